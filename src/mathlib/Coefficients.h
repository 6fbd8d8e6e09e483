// Coefficients of the polynomials, lowest power first, made by derive/coefficients.py: do not edit.
#pragma once

// exp(r) = 1 + r + r^2 P(r), |r| <= ln2/2, relative; weighted error 2^-28.3
static const float kExpF32[] = {
    0x1.fffffc0000000p-2f,
    0x1.5554920000000p-3f,
    0x1.5558b00000000p-5f,
    0x1.1239900000000p-7f,
    0x1.6a4d800000000p-10f,
};

// 2^r = 1 + r P(r), |r| <= 1/2, relative; weighted error 2^-27.5
static const float kExp2F32[] = {
    0x1.62e4320000000p-1f,
    0x1.ebfbe60000000p-3f,
    0x1.c6ad6c0000000p-5f,
    0x1.3b244a0000000p-7f,
    0x1.5fe2720000000p-10f,
    0x1.48e48e0000000p-13f,
};

// expm1(r) = r + r^2 P(r), |r| <= ln2/2, relative; weighted error 2^-26.1
static const float kExpm1F32[] = {
    0x1.fffffe0000000p-2f,
    0x1.5554b40000000p-3f,
    0x1.5556f20000000p-5f,
    0x1.12254c0000000p-7f,
    0x1.6b9c740000000p-10f,
};

// sin(r) = r + r^3 P(r^2), |r| <= pi/4, relative; weighted error 2^-27.8
static const float kSinF32[] = {
    -0x1.5555440000000p-3f,
    0x1.1106c60000000p-7f,
    -0x1.991c260000000p-13f,
};

// cos(r) = 1 - r^2/2 + r^4 P(r^2), |r| <= pi/4, relative; weighted error 2^-32.7
static const float kCosF32[] = {
    0x1.55554a0000000p-5f,
    -0x1.6c0c140000000p-10f,
    0x1.99de6a0000000p-16f,
};

// log(1+f) = f - f^2/2 + f^3 P(f), 2/3 <= 1+f <= 4/3, relative; weighted error 2^-27.7
static const float kLogF32[] = {
    0x1.5555060000000p-2f,
    -0x1.fffef80000000p-3f,
    0x1.99d05a0000000p-3f,
    -0x1.559c9a0000000p-3f,
    0x1.1ed47a0000000p-3f,
    -0x1.f32f960000000p-4f,
    0x1.1e71e00000000p-3f,
    -0x1.07c7ce0000000p-3f,
};

// the same over sqrt(1/2) <= 1+f <= sqrt(2), for log2; weighted error 2^-30.3
static const float kLogWideF32[] = {
    0x1.5555480000000p-2f,
    -0x1.0000060000000p-2f,
    0x1.99a4760000000p-3f,
    -0x1.555c440000000p-3f,
    0x1.233ba20000000p-3f,
    -0x1.fc28cc0000000p-4f,
    0x1.e6c00e0000000p-4f,
    -0x1.de01c60000000p-4f,
    0x1.14730e0000000p-4f,
};

// tanh(x) = x + x^3 P(x^2), |x| <= 0.56, relative; weighted error 2^-29.4
static const float kTanhF32[] = {
    -0x1.5555480000000p-2f,
    0x1.110c5e0000000p-3f,
    -0x1.b905c40000000p-5f,
    0x1.5811f60000000p-6f,
    -0x1.9454f00000000p-8f,
};

// erf(x) = x + x P(x^2), |x| <= 0.9, relative; weighted error 2^-26.1
static const float kErfSmallF32[] = {
    0x1.06eba60000000p-3f,
    -0x1.8126ee0000000p-2f,
    0x1.ce1c180000000p-4f,
    -0x1.b6a6d40000000p-6f,
    0x1.47ee2e0000000p-8f,
    -0x1.3d30e40000000p-11f,
};

// erfc(x) = 2^P(x), 0.9 <= x <= 4, absolute in units of erfc; weighted error 2^-33.5
static const float kErfLargeF32[] = {
    0x1.0202860000000p-12f,
    -0x1.a128080000000p+0f,
    -0x1.d3db760000000p-1f,
    -0x1.3fcce60000000p-3f,
    0x1.288bda0000000p-5f,
    -0x1.8960720000000p-8f,
    0x1.4700c40000000p-11f,
    -0x1.fa2a0e0000000p-16f,
};

