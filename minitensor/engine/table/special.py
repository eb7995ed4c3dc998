"""Functions that scipy computes: error functions, the gamma function and its derivatives, Bessel functions.

Definitions and derivatives are cited by section of the Digital Library of Mathematical Functions of the NIST (DLMF),
https://dlmf.nist.gov.
"""

from minitensor.engine.kernels import special as kernels
from minitensor.engine.table.rows import each, op

each("erf", kernels.erf, "x", "Error function (NIST DLMF 7.2).", floats=True,
   x="g * 1.1283791670955126 * exp(-(x * x))")  # 2 / sqrt(pi)  # fmt: skip
each("erfinv", kernels.erfinv, "x",
   "Inverse of the error function; nan outside the range from -1 to 1 (NIST DLMF 7.17).", floats=True,
   x="g * 0.8862269254527580 * exp(out * out)")  # sqrt(pi) / 2  # fmt: skip

# ---------- the gamma function and its derivatives ----------

op("lgamma", kernels.lgamma, "x", "Logarithm of the absolute value of the gamma function (NIST DLMF 5.2).", floats=True,
   aliases=("gammaln",), x="g * digamma(x)")  # fmt: skip
op("digamma", kernels.digamma, "x", "Slope of the logarithm of the gamma function (NIST DLMF 5.2).", floats=True,
   x="g * polygamma(x, 1)")  # fmt: skip
op("polygamma", kernels.polygamma, "x", "The n-th derivative of digamma (NIST DLMF 5.15).", arguments=("n",),
   floats=True, prepare=kernels.polygamma_arguments, refuses=("ValueError: for n that is negative or not an integer.",),
   x="g * polygamma(x, n + 1)")  # fmt: skip
op("multigammaln", kernels.multigammaln, "x",
   "Logarithm of the gamma function of p dimensions, for x > (p - 1) / 2 (NIST DLMF 35.3).", arguments=("p",),
   floats=True, prepare=kernels.multigammaln_arguments,
   refuses=("ValueError: for p that is not an integer from 1 to 10,000.",),
   x="g * multipolygamma(x, 0, p)")  # fmt: skip
op("multipolygamma", kernels.multipolygamma, "x",
   "The (n + 1)-th derivative of multigammaln (NIST DLMF 35.3 and 5.15).", arguments=("n", "p"), floats=True,
   x="g * multipolygamma(x, n + 1, p)", in_place=False, namespaces="")  # fmt: skip

# ---------- the incomplete gamma function ----------

op("gammainc", kernels.gammainc, "x y", "Lower incomplete gamma function of x at y, divided by the gamma function of x "
   "(NIST DLMF 8.2); a gradient for x is not implemented.", floats=True, x="no_slope('gammainc')",
   y="g * gamma_density(x, y)")  # fmt: skip
op("gammaincc", kernels.gammaincc, "x y", "Upper incomplete gamma function of x at y, divided by the gamma function of "
   "x (NIST DLMF 8.2); a gradient for x is not implemented.", floats=True, x="no_slope('gammaincc')",
   y="-g * gamma_density(x, y)")  # fmt: skip
op("gamma_density", kernels.gamma_density, "x y",
   "y ** (x - 1) * exp(-y) divided by the gamma function of x: the slope of gammainc along y (NIST DLMF 8.8).",
   floats=True, x="g * out * (log(y) - digamma(x))",
   y="g * out * ((x - 1) / y - 1)", in_place=False, namespaces="")  # fmt: skip

# ---------- Bessel functions ----------

op("i0", kernels.i0, "x", "Modified Bessel function of the first kind, of order 0 (NIST DLMF 10.25).", floats=True,
   x="g * bessel_i(x, 1)")  # fmt: skip
op("bessel_i", kernels.bessel_i, "x",
   "Modified Bessel function of the first kind, of integer order n (NIST DLMF 10.25; its slope: 10.29).",
   arguments=("n",), floats=True, x="g * 0.5 * (bessel_i(x, n - 1) + bessel_i(x, n + 1))", in_place=False,
   namespaces="")  # fmt: skip
