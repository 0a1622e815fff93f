"""What stands before a random function, and what changes between its calls. Places are those of `random_code_forms`."""

DEFINITIONS = (
    "W, M, HIST, TABLE = 1.5, 3, [], [np.arange(3.0), np.ones(3)]",
    "BUF = np.array([0.5, -1.0, 2.0])",
    "CONF = {'p': 2.0, 'q': np.arange(3.0), 'last': None}",
    "class Pair(NamedTuple):\n    left: object\n    right: object = 1.0",
    "@dataclass\nclass Point:\n    x: object\n    y: float = 0.0\n"
    "    def moved(self, by):\n        return Point(self.x + by, self.y - 1)",
    "class Mode(enum.Enum):\n    FAST = 1\n    SLOW = 2",
    """class K:
    s = 2.0
    count = 0
    table = {'g': 0.5}
    def __init__(self, x, n=1):
        self.x, self.n, self.h, self.t = x, n, [], 0.0
    @property
    def scaled(self):
        return self.x * self.s
    @scaled.setter
    def scaled(self, v):
        self.x = v / self.s
    @classmethod
    def make(cls, p):
        cls.count += 1
        return cls(p * cls.s)
    @staticmethod
    def half(p):
        return p * 0.5
    def step(self, v):
        self.n += 1
        self.t = self.t * 0.5 + self.n
        self.x = self.x * 0.5 + v
        return self
    def add(self, v):
        self.x += v
        return self.x
    def log(self, v):
        self.h.append(v)
        return len(self.h)
    def __call__(self, p):
        return p * self.n + self.t
    def __len__(self):
        return len(self.x)
    def __getitem__(self, k):
        return self.x[k]
    def __setitem__(self, k, v):
        self.x[k] = v
    def __add__(self, other):
        return self.x + other
    def __enter__(self):
        self.n += 1
        return self
    def __exit__(self, *found):
        self.n -= 1
        return found[0] is ValueError""",
    "class Child(K):\n    s = 3.0\n    def add(self, v):\n        self.t += 1\n        return super().add(v * 2)",
    "OBJ = K(np.arange(3.0))",
    "OPS = {'add': np.add, 'two': lambda q: q * 2}",
)

HELPERS = (
    "def h0(p, q=<s>):¶    return <E>",
    "def h1(p, q=<s>):¶    <S>¶    <S>¶    return <E>",
    "def h2(p, q=2.0, *rest, acc=[], **more):¶    acc.append(q)¶    return p * q + len(acc)",
    "def make(q):¶    def inner(p):¶        return p * q¶    return inner¶h3 = make(<s>)",
    "def count(q):¶    def inner(p):¶        nonlocal q¶        q += 1¶        return p * q¶    return inner¶"
    "h4 = count(0)",
    "def rows(p):¶    for r in p:¶        yield r * 2¶def h5(p):¶    return np.array(list(rows(p)))",
    "def h6(p, q=3):¶    return p if q == 0 else h6(p * 0.5 + <s>, q - 1)",
    "def twice(func):¶    @functools.wraps(func)¶    def inner(*args, **kwargs):¶"
    "        return func(*args, **kwargs) * 2¶    return inner¶@twice¶def h7(p):¶    return <E>",
    "h8 = lambda p, q=<s>: <E>",
    "h9 = functools.partial(np.multiply, <s>)",
    "def h0(p, q=1):¶    global M¶    M = M + 1¶    return p * M",
    "def h1(p, q=1.0):¶    if p.sum() > q:¶        return p - q¶    return p + q",
    "def h2(p, q=<s>):¶    p[...] = <a>¶    return p",
    "def h3(p, q=0.5):¶    out = np.empty_like(p)¶    out[...] = q¶    out[1:] = p[:-1]¶    return out",
    "def h4(p, q=1):¶    assert p.ndim¶    return [p * q, p + q]",
    "def h5(p, q=0.5):¶    p *= q¶    return p",
)

BETWEEN = (
    "W = 0.25", "M += 1", "BUF = BUF * 2", "BUF[0] = 7", "CONF['p'] = 3.5", "CONF = {'p': 1, 'q': np.ones(3)}",
    "K.s = 9", "K.s = 0.5", "K.table = {'g': 4}", "OPS['two'] = lambda q: q * 3", "HIST = []", "HIST.clear()",
    "OBJ.n += 1", "OBJ.x = np.ones(3)", "TABLE.append(np.zeros(3))", "K.half = staticmethod(lambda p: p * 0.25)",
    "Child.add = K.add", "keep.pop('o', None)", "TABLE[0] = np.full(3, 2.0)",
    "K.__call__ = lambda self, p: p - self.n", "BUF.flags.writeable = False",
)  # fmt: skip
