"""在一个引擎上运行由少数几种语句组成的全部短程序，并评判每一个：正确、被拒绝或出错。

    python judge.py engine.py                              至多两句的全部程序
    python judge.py engine.py --show                       再给出每种毛病的第一个程序，连同它的数
    python judge.py engine.py --also "{0}.sqrt_()"         多加一种语句
    python judge.py engine.py --length 3 --vocabulary wide

程序是 Python 文本，运行两次：一次在引擎上，一次用 numpy 的复数数组。这些数是 x + i STEP d，虚部就是沿方向 d 的导数；
numpy 移动、取视图或覆盖一个数时，虚部也跟着走。这个参照没有计算图，什么也不保存，也没有可能写错的视图规则。
"""

import argparse
import functools
import importlib.util
import itertools
from collections import Counter

import numpy as np

X = np.array([0.31, 0.83, 0.57, 0.22])
DIRECTION = np.array([0.74, -1.31, 0.92, 1.17])  # 沿这个方向，错的梯度不会碰巧看起来正确
STEP = 1e-30  # 导数的误差是 STEP 的平方量级，远小于舍入误差
LARGEST = 1e3  # 跳过数更大的程序，因为舍入会掩盖它们的梯度

SMALL = """{0}[:2] | {0}[1:] | {0}[::2] | {0}[0] | {0}.detach() | {0} * {1} | {0}.exp() |
           {0}.exp_() | {0}.scale_(2.0, 0.5) | {0}.add_({1}) | {0}.multiply_({1}) | {0}[0] = 0.7 | {0}[:] = {1}"""
WIDE = SMALL + " | {0} + {1} | {0}.sin_() | {0}.reshape(2, 2)"
VOCABULARIES = {"small": SMALL, "wide": WIDE}


# ---------- 参照 ----------


class NoSense(Exception):
    """语句不适用：形状不符、结果为空，或者这次写入不应影响梯度。"""


class LeafWritten(Exception):
    """语句覆盖叶子节点。引擎必须拒绝它。"""


class Exact(np.ndarray):
    """带有引擎的方法名的 numpy 数组；哪些结果是视图、覆盖哪些单元，由 numpy 决定。"""

    def __array_wrap__(self, array, context=None, return_scalar=False):
        return np.asarray(array, complex).view(Exact)  # 即使操作数都已分离，也用复数

    def __getitem__(self, key):
        return super().__getitem__((key, ...))  # “...”使单个数也得到数组

    def __setitem__(self, key, value):
        if isinstance(value, Exact) and value.shape != self[key].shape:
            raise NoSense
        self[key].write(value)

    def write(self, numbers):
        """覆盖整个数组。"""
        if np.shape(numbers) not in ((), self.shape) or not np.iscomplexobj(self):
            raise NoSense  # 分离的别名是实数；通过它的写入不应影响梯度
        if not self.flags.writeable:
            raise LeafWritten
        np.copyto(self, numbers)

    def detach(self):
        """返回同一块内存，不带导数。"""
        return self.real


NAMES = ("add", "subtract", "multiply", "divide", "exp", "log", "sin", "cos", "tanh", "sqrt")
FUNCTIONS = {**{name: getattr(np, name) for name in NAMES}, "scale": lambda x, factor, bias: x * factor + bias}
for name, function in FUNCTIONS.items():
    setattr(Exact, name, lambda x, *others, function=function: function(x, *others))
    setattr(Exact, name + "_", lambda x, *others, function=function: x.write(function(x, *others)))


# ---------- 程序 ----------


@functools.cache
def compiled(statement):
    """返回编译好的语句；所有程序只编译一次。"""
    return compile(statement, statement, "exec")


def run(program, x):
    """返回程序结束后的张量，按名字存放。开头是一个叶子节点，和由它算出的一个张量。"""
    names = {"x": x, "a": x * 1.0}
    for statement in program:
        exec(compiled(statement), {}, names)
    return names


def exactly(program, direction=DIRECTION):
    """返回程序在参照上结束后的数组；如果它覆盖叶子节点，返回 None。"""
    x = (X + STEP * 1j * direction).view(Exact)
    x.flags.writeable = False
    try:
        names = run(program, x)
    except LeafWritten:
        return None
    except (ValueError, IndexError) as error:
        raise NoSense from error
    for array in map(np.asarray, names.values()):
        if array.size == 0 or not np.abs(array).max() <= LARGEST or np.abs(array.imag).max() > STEP**0.5:
            raise NoSense  # 虚部不再微小：对负数开了平方或取了对数
    return names


def writes(statement):
    """语句是否覆盖某些数。"""
    return "_(" in statement or "] =" in statement


def statements(vocabulary, names):
    """给出这些名字上的全部语句。结果用下一个字母命名。"""
    for template in map(str.strip, vocabulary.split("|")):
        for operands in itertools.product(names, repeat=2 if "{1}" in template else 1):
            statement = template.format(*operands)
            yield statement if writes(statement) else f"{'abcdefg'[len(names) - 1]} = {statement}"


def programs(length, vocabulary=SMALL):
    """给出至多 ``length`` 句、并且有写入的全部程序，短的在前，连同它们的准确的数。"""
    level = [((), ("x", "a"))]
    for _ in range(length):
        longer = []
        for program, names in level:
            for statement in statements(vocabulary, names):
                try:
                    longer.append(((*program, statement), exactly((*program, statement))))
                except NoSense:
                    continue
        yield from (each for each in longer if any(map(writes, each[0])))
        level = [each for each in longer if each[1] is not None]


# ---------- 判定 ----------


@functools.cache
def weights(number, shape):
    """为张量的每个数返回一个系数；``number`` 是张量在程序里的位置。"""
    return 1 + 0.5 * np.cos(number + 1.7 * np.arange(np.prod(shape, dtype=int))).reshape(shape)


def total(names):
    """返回所有名字的所有数的加权和，每个数的系数都不同。"""
    return sum((tensor * weights(number, tuple(tensor.shape))).sum() for number, tensor in enumerate(names.values()))


def ran(engine, program):
    """返回程序结束后各个名字的数和 x 的梯度，或者使它停下的异常。"""
    try:
        x = engine.tensor(X, stop_gradient=False)
        names = run(program, x)
        total(names).backward()
        gradient = None if x.grad is None else np.asarray(x.grad)
        return {name: np.asarray(tensor.numpy()) for name, tensor in names.items()}, gradient
    except Exception as error:
        return error


def verdict(engine, program, expected):
    """在引擎上运行一个程序，返回 "right"（正确）、"refused"（被拒绝）、"crashed"（崩溃）或 "wrong"（出错）。

    engine：它有 `tensor(data, stop_gradient=False)`，它的张量有各种语句、`numpy()`、`backward()` 和
            `grad`。它用 ValueError 或 RuntimeError 表示拒绝；别的异常都是崩溃。
        expected：每个名字的准确的数；如果叶子节点被覆盖，就是 None。
    """
    found = ran(engine, program)
    if isinstance(found, Exception):
        is_refusal = isinstance(found, ValueError | RuntimeError) and not isinstance(found, RecursionError)
        return "refused" if is_refusal else "crashed"
    if expected is None:
        return "wrong"
    numbers, gradient = found
    derivative = np.asarray(total(expected)).imag / STEP
    right = np.shape(gradient) == X.shape and np.isclose(gradient @ DIRECTION, derivative, rtol=1e-9, atol=1e-9)
    return "right" if right and same(numbers, expected) else "wrong"


def same(numbers, expected):
    """引擎的数是否就是准确的数。"""
    exact = {name: np.asarray(array).real for name, array in expected.items()}
    return all(numbers[name].shape == exact[name].shape and np.allclose(numbers[name], exact[name]) for name in exact)


def judge(engine, judged, first=None):
    """统计正确、被拒绝和出错的程序；"leaf" 统计覆盖叶子节点却能跑完的程序。

    崩溃的程序算作被拒绝，另外计入 "crashed"。字典 `first` 里放每一类的第一个程序。
    """
    count = Counter(right=0, refused=0, wrong=0, leaf=0)
    for program, expected in judged:
        kind = found = verdict(engine, program, expected)
        if found == "crashed":
            count["crashed"] += expected is not None
            found = "refused"
        if expected is not None or found == "wrong":
            count[found if expected is not None else "leaf"] += 1
        if first is not None and (kind != "refused" or expected is not None):
            kind = "leaf" if expected is None and kind == "wrong" else kind
            first.setdefault(kind, (program, expected))
    return dict(count)


# ---------- 命令行 ----------

FIRST = "第一个{}的程序：\n{}"
FAULTS = {"wrong": "无声出错", "leaf": "覆盖叶子节点 x 却不报错", "crashed": "崩溃，算作被拒绝", "refused": "被拒绝"}


def shown(engine, program, expected):
    """返回一个程序，连同引擎的数和准确的数，或者连同报错。"""
    lines = [f"x = tensor({X.tolist()}, stop_gradient=False)", "a = x * 1.0", *program]
    found = ran(engine, program)
    if isinstance(found, Exception):
        return "\n".join([*lines, f"  {type(found).__name__}: {found}"])
    numbers, gradient = found
    lines.append(f"  x 的梯度            {rounded(gradient)}")
    if expected is None:
        return "\n".join(lines)
    exact = [np.asarray(total(exactly(program, unit))).imag / STEP for unit in np.eye(X.size)]
    lines.append(f"  准确值              {rounded(exact)}   （对所有张量的所有数的加权和做反向之后的 x.grad）")
    for name, array in expected.items():
        if not same(numbers, {name: array}):
            lines += [
                f"  {name:<20}{rounded(numbers[name])}",
                f"  准确值              {rounded(np.asarray(array).real)}",
            ]
    return "\n".join(lines)


def rounded(numbers):
    """返回四位小数的文本，或者 "None"。"""
    return "None" if numbers is None else np.array2string(np.asarray(numbers, float), precision=4, separator=", ")


def main():
    """评判命令行给出的文件，并打印个数。"""
    parser = argparse.ArgumentParser(description="用全部短程序评判一个引擎。")
    parser.add_argument("engine", help="一个 Python 文件")
    parser.add_argument("--length", type=int, default=2, help="一个程序至多几句")
    parser.add_argument("--vocabulary", choices=VOCABULARIES, default="small")
    parser.add_argument("--also", metavar="STATEMENTS", help="更多语句，例如 '{0}.sqrt_() | {0}[::-1]'")
    parser.add_argument("--show", action="store_true", help="打印每种毛病的第一个程序，连同它的数")
    chosen = parser.parse_args()
    vocabulary = VOCABULARIES[chosen.vocabulary] + (f" | {chosen.also}" if chosen.also else "")
    specification = importlib.util.spec_from_file_location("engine", chosen.engine)
    engine = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(engine)
    np.seterr(all="ignore")  # 跳过出现无穷大的程序
    first = {}
    try:
        print(judge(engine, programs(chosen.length, vocabulary), first))
    except (AttributeError, IndexError, KeyError, NameError, SyntaxError, TypeError, ValueError) as error:
        known = ", ".join(FUNCTIONS)
        parser.error(f"--also {chosen.also!r}: {error}。可以用 numpy 数组的方法名，以及 {known}，带或不带 _")
    for kind, title in FAULTS.items():
        if kind in first and (chosen.show or kind == "crashed"):
            print("\n" + FIRST.format(title, shown(engine, *first[kind])))


if __name__ == "__main__":
    main()
