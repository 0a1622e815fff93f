"""What random functions are made of: forms of expressions and statements, after NumPy's and Python's reference.

A form is a piece of Python in which places in angle brackets are filled in:

==== ==========================================  ==== ==========================================
<a>  an array, or an expression that gives one   <s>  a number
<v>  an array that may be written to             <n>  a small integer
<b>  an array of booleans                        <x>  an axis
<i>  an index of any kind                        <c>  an index of slices and integers
<t>  a dtype                                     <u>  a name of a binary ufunc
<l>  a list of arrays                            <d>  a dict of arrays and numbers
<o>  an object of a class of the program         <f>  something that can be called with an array
<g>  a random generator                          <w>  a new name
<S>  a simple statement in a block               <E>  any expression
==== ==========================================  ==== ==========================================
"""

NUMBERS = """
2 0.5 -1 3.0 0 1 -0.0 1j True 1e300 -3 7 np.nan np.inf np.float32(0.1) np.int8(100) np.uint8(3)
np.float64(2.5) s s s n n W M 0.25 255 -128 2**31 2**63 np.pi 10
""".split()

DTYPES = """
bool int float complex np.int8 np.uint8 np.int16 np.uint16 np.int32 np.uint32 np.int64 np.uint64 np.float32
np.float64 np.complex64 np.complex128 np.float16 'f4' 'i2' None
""".split()

BINARY = """
add subtract multiply divide floor_divide remainder fmod power maximum minimum fmax fmin arctan2 hypot
copysign logaddexp less less_equal greater equal not_equal logical_and logical_or logical_xor bitwise_and
bitwise_or bitwise_xor left_shift right_shift heaviside nextafter gcd add multiply subtract true_divide
float_power
""".split()

UNARY = """
negative positive absolute abs fabs sqrt square cbrt reciprocal exp exp2 expm1 log log2 log10 log1p sin cos
tan arcsin arccos arctan sinh cosh tanh arcsinh arctanh deg2rad degrees floor ceil trunc rint sign isnan isinf
isfinite signbit conjugate logical_not invert spacing nan_to_num real imag angle sinc
""".split()

SLICES = """
1: :-1 ::2 ::-1 : 1:-1 0 -1 n-1 :n n: ... None ::-2 -1:0:-1 2: -2: 0:0 3:1 1 5: n n::-1
""".split()

EXPRESSIONS = """
<a> + <a>
<a> - <a>
<a> * <a>
<a> / <a>
<a> * <s>
<a> + <s>
<s> - <a>
<a> / <s>
<a> // <s>
<a> % <s>
<a> ** <n>
<a> ** 0.5
-<a>
abs(<a>)
~<b>
<b> & <b>
<b> | <b>
<a> < <s>
<a> == <a>
<a> >= <a>
(<a> > <s>) != <b>
divmod(<a>, <s>)
np.<u>(<a>, <a>)
np.<u>(<a>, <s>)
np.<u>(<s>, <a>)
np.<u>(<a>, <a>, out=<v>)
np.<u>(<a>, <a>, where=<b>, out=<v>)
np.<u>(<a>, <s>, dtype=<t>)
np.<u>(<a>, <a>, casting='unsafe', dtype=<t>)
np.<u>.outer(<a>[0], <a>[-1])
np.<u>.reduce(<a>, axis=<x>)
np.<u>.reduce(<a>, axis=<x>, initial=<s>)
np.<u>.accumulate(<a>)
np.<y>(<a>)
np.<y>(<a>, out=<v>)
np.<y>(<a>, where=<b>, out=<v>)
np.<y>(<s>)
<a>.sum()
<a>.sum(axis=<x>)
<a>.sum(axis=<x>, keepdims=True)
<a>.sum(dtype=<t>)
np.sum(<a>, axis=<x>, initial=<s>, where=<b>)
np.sum(<a>, axis=<x>, out=<v>)
<a>.prod(axis=<x>)
<a>.mean(axis=<x>)
<a>.mean(axis=<x>, keepdims=True)
np.mean(<a>, axis=<x>, where=<b>)
<a>.std(axis=<x>)
<a>.var(axis=<x>, ddof=1)
<a>.max(axis=<x>)
<a>.min(axis=<x>, keepdims=True)
<a>.max(initial=<s>)
np.min(<a>, axis=<x>, initial=<s>, where=<b>)
<a>.argmax(axis=<x>)
<a>.argmin()
<a>.any(axis=<x>)
<a>.all()
np.ptp(<a>, axis=<x>)
np.nansum(<a>, axis=<x>)
np.nanmax(<a>, axis=<x>)
np.nanmean(<a>)
np.median(<a>, axis=<x>)
np.percentile(<a>, 30)
np.count_nonzero(<a>)
<a>.cumsum(axis=<x>)
np.cumprod(<a>)
np.diff(<a>)
np.gradient(<a>)
np.dot(<a>, <a>)
<a> @ <a>.T
np.einsum('...i,...i->...', <a>, <a>)
np.tensordot(<a>, <a>, axes=1)
np.inner(<a>, <a>)
np.outer(<a>, <a>)
np.trace(np.atleast_2d(<a>))
<a>[<i>]
<a>[<c>]
<a>[<b>]
<a>[<c>][<c>]
<a>[<c>] - <a>[<c>]
<a>.T
<a>.T[<c>]
<a>.reshape(-1)
<a>.reshape(-1)[1:] - <a>.reshape(-1)[:-1]
<a>.reshape(-1)[::-1]
<a>.reshape(<a>.shape[::-1])
<a>[::-1] + <a>
<a>[..., ::-1] * <a>
<a>.ravel()
<a>.flatten()
<a>[None]
<a>[..., None]
<a>.real
<a>.imag
<a>.copy()
<a>.astype(<t>)
<a>.astype(<t>, copy=False)
<a>.view(np.uint8)
<a>.conj()
<a>.round(1)
<a>.clip(<s>, <s>)
np.clip(<a>, None, <s>)
<a>.repeat(2)
<a>.repeat(2, axis=<x>)
<a>.take([0, -1], axis=<x>)
<a>.squeeze()
<a>.swapaxes(0, -1)
<a>.tolist()
<a>.item(0)
<a>.dot(<a>.T)
<a>.nonzero()
<a>.argsort(axis=-1, kind='stable')
<a>.diagonal()
<a>.searchsorted(<s>)
np.where(<b>, <a>, <a>)
np.where(<b>, <a>, <s>)
np.where(<b>)
np.select([<b>, <b>], [<a>, <a>], <s>)
np.choose((<a> > <s>).astype(int), [<a>, <a>])
np.concatenate([<a>, <a>])
np.concatenate((<a>, <a>), axis=-1)
np.concatenate(([<a>[0]], <a>))
np.stack([<a>, <a>], axis=-1)
np.stack(<l>)
np.vstack((<a>, <a>))
np.hstack([<a>, <s>])
np.column_stack([<a>, <a>])
np.array([<a>, <a>])
np.array([<s>, <s>, n])
np.array(<a>, dtype=<t>)
np.array(<a>, copy=None, ndmin=2)
np.asarray(<a>)
np.asarray(<l>)
np.ascontiguousarray(<a>)
np.asfortranarray(<a>)
np.zeros_like(<a>)
np.ones(<a>.shape, <t>)
np.full(<a>.shape, <s>)
np.full_like(<a>, <s>)
np.zeros((n, 3))
np.empty_like(<a>).shape
np.arange(n + 2)
np.arange(<s>, 9, 2.5)
np.linspace(0, <s>, 4)
np.eye(n)
np.tril(<a>)
np.diag(<a>)
np.meshgrid(<a>[0], <a>[-1])
np.indices((n, 2))
np.broadcast_to(<a>, (2,) + <a>.shape)
np.broadcast_arrays(<a>, <s>)
np.roll(<a>, n)
np.roll(<a>, 1, axis=<x>)
np.flip(<a>, <x>)
np.rot90(np.atleast_2d(<a>))
np.pad(<a>, 1)
np.pad(<a>, n, mode='edge')
np.tile(<a>, 2)
np.repeat(<a>, n)
np.sort(<a>, axis=<x>)
np.argsort(<a>, kind='stable')
np.unique(<a>)
np.unique(<a>, return_counts=True)
np.split(<a>, [1, 2])
np.array_split(<a>, 2)
np.isclose(<a>, <a>)
np.allclose(<a>, <a>)
np.array_equal(<a>, <a>)
np.isin(<a>, [0, 1, 2.5])
np.interp(<a>, [0, 1, 2], [0, 10, <s>])
np.digitize(<a>, [-1, 0, 1])
np.bincount(np.abs(<a>).astype(int).ravel() % 7)
np.histogram(<a>, 3)[0]
np.convolve(<a>.ravel(), [1, 2, <s>])
np.cross(<a>[..., :3], [1, 2, 3])
np.cov(<a>)
np.linalg.norm(<a>)
np.linalg.det(np.eye(3) * <s>)
np.fft.fft(<a>).real
np.moveaxis(<a>, 0, -1)
np.expand_dims(<a>, <x>)
np.take_along_axis(<a>, np.argsort(<a>, axis=-1, kind='stable'), axis=-1)
np.lib.stride_tricks.sliding_window_view(<a>, 2, axis=-1)
np.lib.stride_tricks.sliding_window_view(<a>.ravel(), n).sum(axis=-1)
np.apply_along_axis(<f>, 0, <a>)
np.vectorize(lambda q: q * 2 + 1)(<a>)
np.ix_([0, 1], [0])
np.r_[<a>, <s>]
np.c_[<a>, <a>]
np.ndim(<a>)
np.shape(<a>)
np.size(<a>, 0)
np.result_type(<a>, <s>)
np.finfo(<a>.dtype).eps
np.may_share_memory(<a>, <a>)
np.piecewise(<a>, [<b>, ~<b>], [<s>, lambda q: q + 1])
np.frompyfunc(lambda p, q: p, 2, 1)(<a>, <a>).astype(float)
float(<a>.sum())
int(<a>.size) + n
bool(<a>.any())
complex(<s>)
len(<a>)
sum(<a>)
max(<s>, n)
min(<a>.sum(), <s>)
sum(q.sum() for q in <l>)
[q * 2 for q in <l>]
[q.sum() for q in <a> if q.sum() > <s>]
{k: q + 1 for k, q in enumerate(<l>)}
{k: q for k, q in <d>.items() if k != 'p'}
tuple(<a>.shape)
list(<a>)[:2]
[*<l>, <a>]
{**<d>, 'z': <a>}
dict(u=<a>, v=<s>)
(<a>, <s>)
list(zip(<a>, range(3)))
list(map(<f>, <l>))
list(enumerate(<l>))[-1]
list(reversed(<l>))
sorted(<a>.ravel().tolist())[:3]
sorted(<d>)
any(q > 1 for q in <a>.ravel())
functools.reduce(np.add, <l>)
functools.partial(np.add, <s>)(<a>)
{int(q) for q in np.nan_to_num(<a>).ravel()[:3]}
<l>[n - 2]
<l>[-1] * <s>
<l>[:]
len(<l>)
<d>['p'] * <a>
<d>.get('q', <s>)
<d>.get('none')
list(<d>.values())
'p' in <d>
<a> if <s> > 0 else <a>
<a> if n > 1 else <s>
<a> if flag else -<a>
<a> is <a>
<o>.x is <a>
flag and n
n or <s>
not flag
isinstance(<a>, np.ndarray)
isinstance(<s>, (int, float))
type(<a>).__name__
<a>.dtype == float
<a>.dtype.kind
<a>.flags.writeable
<a>.strides
<a>.base is None
<a>.nbytes
hash(n)
f"{<s>}"
f"{n:03d} {s:.3f}"
f"{<a>.sum():.3g}"
str(<a>.shape)
repr(<a>.dtype)
str(<a>.ravel()[:2])
'%s' % n
<f>(<a>)
<f>(<a> * <s>)
(lambda q, r=<s>: q * r)(<a>)
<o>.x
<o>.x * <o>.n
<o>.scaled
<o>.s * <a>
<o>(<a>)
<o>[<c>]
<o> + <a>
<o> == <o>
<o>.half(<a>)
<o>.make(<a>).x
<o>.step(<a>).t
<o>.add(<a>)
<o>.log(<a>)
<o>.log(<s>)
len(<o>)
getattr(<o>, 'x')
getattr(<o>, 'zz', <s>)
hasattr(<o>, 'y')
vars(<o>)['n']
K.s * <a>
K.table['g'] * <a>
K(<a>, n)
K(<a>).step(<s>)
Child(<a>).add(<s>)
Pair(<a>, <s>)
Pair(<a>, n)._replace(right=<s>)
Pair(<a>, n).left
Point(<a>, <s>).moved(<s>)
dataclasses.replace(Point(<a>, 1.0), y=<s>)
isinstance(<o>, K)
Mode.FAST.value * <a>
Mode(1) is Mode.FAST
W * <a>
M + <a>
BUF * <s>
BUF
CONF['p'] * <a>
len(HIST)
OPS['add'](<a>, <a>)
OPS['two'](<a>)
<g>.normal(size=3)
<g>.random(<a>.shape)
<g>.integers(0, 9, 3)
<g>.permutation(<a>)
<g>.choice(<a>.ravel(), 2)
np.random.default_rng(n).normal(size=2)
np.random.rand(2)
""".strip().split("\n")

SIMPLE = """
<w> = <E>
<w> = <E>
<w> = <E>
<w> = <E>
<w> = <a>
<w> = <a>[<c>]
<w> = <a>[<c>][<c>]
<w> = <a>.T
<w> = <a>.reshape(-1)
<w> = <a>.ravel()[<c>]
<w>, <w> = <a>, <s>
<w>, *<w> = <l>
<w> = <w> = <a>
<E>
<E>
<v>[<i>] = <a>
<v>[<i>] = <s>
<v>[<c>] = <a>
<v>[<c>] = <s>
<v>[<c>] = <E>
<v>[<b>] = <s>
<v>[<b>] = <a>[<b>]
<v>[<i>] += <a>
<v>[<i>] *= <s>
<v>[<c>] += <a>
<v>[<c>] -= <a>[<c>]
<v>[<b>] *= <s>
<v>[1:] += <v>[:-1]
<v>[:-1] = <v>[1:]
<v>[::-1] -= <v>
<v>[...] = <E>
<v>[:] = <v>[::-1]
<v> += <a>
<v> -= <s>
<v> *= <a>
<v> *= <s>
<v> /= <s>
<v> //= <s>
<v> **= 2
<v> &= <b>
<v> <<= 1
<v>.T[0] = <s>
<v>.reshape(-1)[1:] = <v>.reshape(-1)[:-1]
<v>.ravel()[0] = <s>
<v>.flat[1] = <s>
<v>.flat = <s>
<v>.real = <s>
<v>.fill(<s>)
<v>.sort()
<v>.sort(axis=0)
<v>.put([0, 1], <s>)
<v>[0], <v>[-1] = <v>[-1], <v>[0].copy()
np.copyto(<v>, <a>)
np.copyto(<v>, <s>, where=<b>)
np.putmask(<v>, <b>, <s>)
np.place(<v>, <b>, [1, 2])
np.put(<v>, [0, -1], <s>)
np.add.at(<v>, [0, 0, 1], <s>)
np.fill_diagonal(<v>, <s>)
np.<u>(<v>, <a>, <v>)
np.<u>(<v>[1:], <a>[:-1], out=<v>[:-1])
np.<y>(<v>, <v>)
np.clip(<v>, -1, 1, out=<v>)
<l>.append(<a>)
<l>.append(<s>)
<l>[0] = <a>
<l>[-1] += <s>
<l>[0], <l>[-1] = <l>[-1], <l>[0]
<l> += [<a>]
<l>.insert(0, <a>)
<l>.pop()
<l>.reverse()
<l>.extend(<a>)
<l>[:] = [q * 2 for q in <l>]
<l>.clear()
del <l>[0]
<d>['q'] = <a>
<d>['p'] = <s>
<d>['p'] += 1
<d>['q'] = <d>.get('q', 0) + <a>
<d>.update(r=<a>)
<d>.setdefault('h', []).append(<s>)
<d>.pop('r', None)
del <d>['p']
<o>.x = <a>
<o>.x += <a>
<o>.x[<c>] = <s>
<o>.x[<c>] *= <s>
<o>.n += 1
<o>.n = n
<o>.t += <s>
<o>.t = <a>.sum()
<o>.y = <a>
<o>.h.append(<a>.sum())
<o>.h = []
<o>.h = [<a>, <s>]
<o>.scaled = <a>
<o>.step(<a>)
<o>.add(<s>)
<o>.log(<a>)
<o>[<c>] = <s>
del <o>.y
<f>(<v>)
cb(<a>.sum())
cb(<s>)
cb(n)
assert <a>.size
assert <s> != 3
pass
<w>: float = <s>
<w> = (<w> := <a>) + 1
<w> = <g>.normal(size=3)
""".strip().split("\n")

BLOCKS = """
if <a>.sum() > <s>:¶ <S>¶else:¶ <S>
if <s> > 0:¶ <S>
if n > 1:¶ <S>¶elif flag:¶ <S>¶else:¶ <S>
if <b>.any():¶ <S>
if flag:¶ return <E>
if <a>.max() > <s>:¶ return <a>
if <b>.all():¶ <S>¶ return <a>, <s>
if np.isnan(<a>).any():¶ raise ValueError('nan')
if <a>.ndim > 1:¶ <S>
if <a>.dtype.kind == 'f':¶ <S>¶else:¶ <S>
if <a> is <a>:¶ <S>
if <l>:¶ <S>
if not <a>.size:¶ return <s>
for k in range(n):¶ <S>
for k in range(3):¶ <S>¶ <S>
for k in range(12):¶ <S>¶ <S>
for k in range(12):¶ <v>[k % len(<v>)] += <s>¶ <S>
for k in range(len(<a>)):¶ <v>[k] = <a>[k] * <s>
for k in range(1, len(<v>)):¶ <v>[k] = <v>[k - 1] * 0.5 + <s>
for k, q in enumerate(<a>):¶ <S>¶ if k > 1:¶  break
for q in <a>:¶ q *= 0.5
for q in <l>:¶ <S>
for q in <l>:¶ q += <s>
for k, q in <d>.items():¶ <S>
for q, r in zip(<a>, <a>):¶ <S>¶ continue
for k in range(n):¶ if k == 1:¶  continue¶ <S>¶else:¶ <S>
k = 0¶while k < n:¶ k += 1¶ <S>
k = 0¶while k < 20:¶ k += 1¶ <v> *= 0.5¶ <S>
k = 0¶while k < 9 and abs(<a>.sum()) > <s>:¶ k += 1¶ <v> *= 0.5
err, k = 1.0, 0¶while err > 1e-3 and k < 30:¶ k += 1¶ <v> *= 0.5¶ err = float(np.abs(<v>).sum()) * 0.5 ** k
k = 0¶while True:¶ k += 1¶ if k > n:¶  break¶ <S>
try:¶ <S>¶ <S>¶except Exception:¶ <S>
try:¶ <w> = <a>[n + 2]¶except IndexError:¶ <S>
try:¶ <a>[n + 3]¶except IndexError:¶ return <a>¶<S>
try:¶ <S>¶except (ValueError, TypeError) as e:¶ <w> = type(e).__name__¶else:¶ <S>
try:¶ <S>¶except ZeroDivisionError:¶ <S>¶finally:¶ <S>
try:¶ <w> = 1 / <s>¶except ZeroDivisionError:¶ <w> = 0
try:¶ <w> = <d>['r']¶except KeyError:¶ <S>
try:¶ <v> += 1j¶except TypeError:¶ <S>
try:¶ <v>[<b>] = [1, 2, 3]¶except ValueError:¶ <S>
try:¶ with np.errstate(all='raise'):¶  <w> = <E>¶except FloatingPointError:¶ <w> = <a> * 0
try:¶ <S>¶ raise KeyError(n)¶except KeyError as e:¶ <w> = e.args¶ <S>
with np.errstate(all='ignore'):¶ <S>
with np.errstate(all='ignore'):¶ <w> = <E>
with np.errstate(divide='raise', invalid='raise'):¶ <w> = <E>
with np.errstate(over='ignore'):¶ <S>
with warnings.catch_warnings():¶ warnings.simplefilter('ignore')¶ <S>
with <o>:¶ <S>
with <o> as q:¶ q.add(<s>)
def h9(p, q=<s>):¶ return p * q + <s>¶<w> = h9(<a>)
match n:¶ case 1:¶  <S>¶ case 2 | 3:¶  <S>¶ case _:¶  <S>
match <l>:¶ case [q]:¶  <S>¶ case [q, *r]:¶  <S>
for k in range(10):¶ <l>[0] = <l>[0] * 0.5¶ <S>
for k in range(10):¶ <o>.step(<s>)
for k in range(10):¶ <o>.x = <o>.x * 0.5 + k
for k in range(10):¶ <v>[1:-1] = 0.5 * (<v>[2:] + <v>[:-2])
del <w>
""".strip().split("\n")

# What makes many a function run plain: in some programs only.
LOUD = """
cb(<a>)
print(n)
print('s', <s>)
print(<a>.sum())
warnings.warn('w')
np.seterr(over='ignore')
np.random.seed(3)
<g>.shuffle(<v>)
K.s = <s>
K.count += 1
type(<o>).count += 1
K.table['g'] = <s>
HIST.append(<a>.sum())
HIST.append(<s>)
HIST[-1:] = [<s>]
CONF['p'] = <s>
CONF['last'] = <a>
BUF[...] = <s>
BUF[0] += 1
setattr(<o>, 'n', 3)
<w> = <v>.copy()¶ <w>.resize(<w>.shape, refcheck=False)
<v>.shape = <v>.shape
<w> = iter(<l>)
<w> = lambda q: q * <s> + 1
np.nan_to_num(<v>, copy=False)
raise ValueError('no') if n > 2 else KeyError(n)
return <E>
with warnings.catch_warnings():¶ warnings.simplefilter('error')¶ <w> = <E>
with contextlib.suppress(IndexError, ValueError):¶ <S>
with np.printoptions(precision=3):¶ <w> = str(<a>.ravel()[:2])
with np.nditer(<v>, op_flags=['readwrite']) as q:¶ for r in q:¶  r[...] = r * 2¶ r = None
def h8(p):¶ nonlocal n¶ n += 1¶ return p + n¶<w> = h8(<a>)
def h7(p):¶ <v>[0] = p¶h7(<s>)
def h6():¶ for q in <l>:¶  yield q * 2¶<w> = list(h6())
global W¶W = <s>
for k in range(9):¶ cb(<a>[k % 2] * k)
for k in range(10):¶ <v> += <a> * 0.25¶ HIST.append(k)
""".strip().split("\n")
