"""Microscaled numbers on the host, as uint8 tensors of PyTorch: four-bit floats (e2m1) and their scales (e8m0), by the
OCP Microscaling Formats specification 1.0."""
import torch

# The values of the codes 0 to 7; bit 3 is the sign.
_VALUES = (0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0)
_BIAS = 127
_NAN = 255  # of a scale


class _Codes:
    """uint8 codes made of numbers, or of a size and then by `random`."""

    def __init__(self, data=None, size=None, device=None):
        self.device = device
        if data is not None:
            assert isinstance(data, torch.Tensor), "data must be a torch tensor"
            self.device = data.device
            self.data = self._encode(data)
        elif size is not None:
            self.size = size if isinstance(size, tuple) else (size,)
        else:
            raise ValueError("give data or size")

    def _random(self, low, high):
        self.data = torch.randint(low, high + 1, size=self.size, dtype=torch.uint8, device=self.device)
        return self


class MXFP4Tensor(_Codes):
    """e2m1 numbers, one in the lower half of each byte of ``data``."""

    def random(self):
        """Fills it with random codes; each is a number."""
        return self._random(0, 15)

    def to(self, dtype):
        """The numbers, as float32."""
        assert dtype == torch.float32, "e2m1 converts to torch.float32 only"
        values = torch.tensor(_VALUES + tuple(-value for value in _VALUES), dtype=dtype, device=self.data.device)
        return values[self.data.long() & 15]

    def _encode(self, values):
        """Rounds to nearest even. What is greater than 6, infinity and NaN become 6, with their sign."""
        magnitude = torch.nan_to_num(values.abs().to(torch.float32), nan=_VALUES[-1])
        code = torch.zeros(values.shape, dtype=torch.uint8, device=values.device)
        for below in range(7):
            middle = (_VALUES[below] + _VALUES[below + 1]) / 2
            code += magnitude > middle if below % 2 == 0 else magnitude >= middle  # a tie goes to the even code
        return code | torch.signbit(values).to(torch.uint8) << 3

    def to_packed_tensor(self, dim):
        """Two numbers in each byte, neighbours along `dim`; the first is in the lower half. A last one without a
        neighbour is packed with 0."""
        assert 0 <= dim < self.data.ndim, f"there is no dimension {dim} of {self.data.ndim} to pack along"
        data = self.data
        if data.shape[dim] % 2:
            data = torch.cat([data, torch.zeros_like(data.narrow(dim, 0, 1))], dim)
        low, high = data.unflatten(dim, (-1, 2)).unbind(dim + 1)
        return low | high << 4

    def unpack_packed_tensor(self, packed_tensor, dim, original_shape):
        """Undoes `to_packed_tensor` of a tensor of `original_shape`: one code a byte."""
        both = torch.stack((packed_tensor & 15, packed_tensor >> 4), dim=dim + 1)
        return both.flatten(dim, dim + 1).narrow(dim, 0, original_shape[dim]).to(torch.uint8)


class MXScaleTensor(_Codes):
    """e8m0 scales: powers of two from 2^-127 to 2^127, or NaN."""

    def random(self, low=None, high=None):
        """Fills it with random scales between two numbers; NaN is not among them."""

        def code(number):
            return int(torch.log2(torch.tensor(float(number)))) + _BIAS

        least = 0 if low is None else max(0, code(low))
        most = _NAN - 1 if high is None else min(_NAN - 1, max(0, code(high)))
        assert least <= most, f"low is above high: {low} and {high}"
        return self._random(least, most)

    def to(self, dtype):
        """The scales, as float32."""
        assert dtype == torch.float32, "e8m0 converts to torch.float32 only"
        power = torch.pow(2.0, self.data.double() - _BIAS).to(dtype)
        return torch.where(self.data == _NAN, torch.nan, power)

    def _encode(self, values):
        """The power of two that is not above a number. What has none, as 0, infinity and NaN, becomes NaN."""
        _, exponent = torch.frexp(values.double())
        code = torch.clamp(exponent - 1 + _BIAS, 0, _NAN - 1).to(torch.uint8)
        return torch.where(torch.isfinite(values) & (values > 0), code, _NAN).to(torch.uint8)
