"""Check by checksums that all ranks have the same parameters, and report how often each rank wrote them."""

from __future__ import annotations

import hashlib
import itertools
from collections import Counter
from collections.abc import Iterable, Mapping

from minitensor.distributed.mpi import ranks_text
from minitensor.distributed.world import link_for
from minitensor.engine import checks
from minitensor.engine.core.tensor import Tensor
from minitensor.engine.device.arrays import host_array


class RanksDifferError(RuntimeError):
    """Raised if the parameters of the ranks have different values.

    Attributes:
        ranks: the ranks whose checksum is not the most frequent one. If several checksums are equally frequent,
            ``ranks`` has the ranks that wrote the parameter more often than another rank; if all ranks wrote it equally
            often, it has all ranks.
        parameter: the name of the first parameter that differs.
    """

    def __init__(self, text: str, ranks: list[int], parameter: str) -> None:
        super().__init__(text)
        self.ranks, self.parameter = ranks, parameter


def checksum(tensor: Tensor) -> str:
    """Return the BLAKE2b checksum of the tensor's data, shape and dtype as 16 hexadecimal digits."""
    checks.instance("checksum", "tensor", tensor, Tensor, "a Tensor")
    digest = hashlib.blake2b(f"{tensor.dtype.name} {list(tensor.shape)}".encode(), digest_size=8)
    digest.update(host_array(tensor._array).tobytes())
    return digest.hexdigest()


def check_equal(parameters: Mapping[str, Tensor] | Iterable[Tensor]) -> None:
    """Raise an error on every rank if the parameters differ between ranks.

    Each rank sends about 24 bytes for each parameter.

    Args:
        parameters: ``layer.state_dict()``, or tensors in the same order on every rank.

    Raises:
        RanksDifferError: if parameters differ. The message names the ranks that differ, the parameter, and for each
            rank how often it wrote the parameter.
        RuntimeError: before ``init_parallel_env``, or if a rank does not call this function.
        TypeError: if a parameter is not a tensor.
    """
    link = link_for("check_equal")
    given = parameters if isinstance(parameters, Mapping) else {f"parameter {i}": x for i, x in enumerate(parameters)}
    own = [(name, checksum(x), x._storage.version) for name, x in given.items()]
    everyone = link.gather(own, "check_equal")
    for entries in itertools.zip_longest(*everyone, fillvalue=("nothing", "", 0)):
        if len({each for _, each, _ in entries}) > 1:
            raise _difference(entries)


def _difference(entries: Iterable[tuple[str, str, int]]) -> RanksDifferError:
    """Return the error for one parameter; ``entries`` has its name, checksum and version on each rank."""
    names, sums, versions = (list(column) for column in zip(*entries, strict=True))
    (most, count), *others = Counter(sums).most_common()
    if count > others[0][1]:
        odd = [rank for rank, each in enumerate(sums) if each != most]
    else:  # several checksums are the most frequent; the ranks that wrote more often have writes that the others lack
        odd = [rank for rank, each in enumerate(versions) if each > min(versions)] or list(range(len(sums)))
    if len(odd) == len(sums):
        verdict = "it cannot be decided which of them is right"
    else:
        verdict = f"{ranks_text(odd)} differ{'s' * (len(odd) == 1)}"
    lines = [f"The ranks do not agree about `{names[odd[0]]}`: {verdict}."]
    lines += [f"  rank {rank}: checksum {sums[rank]}, written {versions[rank]} times" for rank in range(len(sums))]
    if len(set(versions)) > 1:
        lines.append("The numbers of writes differ: an in-place operation ran on some ranks only.")
    else:
        lines.append("The numbers of writes are equal: one of the writes, or the initial values, differed.")
    return RanksDifferError("\n".join(lines), odd, names[odd[0]])
