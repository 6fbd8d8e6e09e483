// Polynomials, lowest power first, and constants, made by derive/coefficients.py: do not edit.
#pragma once

static const float kLn2_1_f32 = 0x1.62e42e0000000p-1f;
static const float kLn2_2_f32 = 0x1.efa39e0000000p-25f;
static const float kHalfPi_1_f32 = 0x1.921fb40000000p+0f;
static const float kHalfPi_2_f32 = 0x1.4442d00000000p-24f;
static const float kHalfPi_3_f32 = 0x1.84698a0000000p-48f;
static const float kHalfPi_f32 = 0x1.921fb60000000p+0f;
static const float kHalfPiLow_f32 = -0x1.777a5c0000000p-25f;
static const float kLog2e_f32 = 0x1.7154760000000p+0f;
static const float kLog2eLow_f32 = 0x1.4ae0c00000000p-26f;
static const float kLog10e_f32 = 0x1.bcb7b20000000p-2f;
static const float kLog10eLow_f32 = -0x1.5b235e0000000p-27f;
static const float kLog10of2_f32 = 0x1.3441360000000p-2f;
static const float kLog10of2Low_f32 = -0x1.ec10c00000000p-27f;
static const float kThird_f32 = 0x1.5555560000000p-2f;
static const float kThirdLow_f32 = -0x1.5555560000000p-27f;
static const float kTwoLog2e_f32 = 0x1.7154760000000p+1f;
static const float kTwoLog2eLow_f32 = 0x1.4ae0c00000000p-25f;
static const float kTwoOverPi_f32 = 0x1.45f3060000000p-1f;

// exp(r) = 1 + r + r^2 P(r), |r| <= ln2/2, relative; weighted error 2^-28.3
static const float kExp_f32[] = {
    0x1.fffffc0000000p-2f, 0x1.5554920000000p-3f,  0x1.5558b00000000p-5f,
    0x1.1239900000000p-7f, 0x1.6a4d800000000p-10f,
};

// 2^r = 1 + r P(r), |r| <= 1/2, relative; weighted error 2^-27.5
static const float kExp2_f32[] = {
    0x1.62e4320000000p-1f, 0x1.ebfbe60000000p-3f,  0x1.c6ad6c0000000p-5f,
    0x1.3b244a0000000p-7f, 0x1.5fe2720000000p-10f, 0x1.48e48e0000000p-13f,
};

// expm1(r) = r + r^2 P(r), |r| <= ln2/2, relative; weighted error 2^-26.1
static const float kExpm1_f32[] = {
    0x1.fffffe0000000p-2f, 0x1.5554b40000000p-3f,  0x1.5556f20000000p-5f,
    0x1.12254c0000000p-7f, 0x1.6b9c740000000p-10f,
};

// log(1+f) = f - f^2/2 + f^3 P(f), 2/3 <= 1+f <= 4/3, relative; weighted error 2^-27.7
static const float kLog_f32[] = {
    0x1.5555060000000p-2f, -0x1.fffef80000000p-3f, 0x1.99d0600000000p-3f, -0x1.559c7e0000000p-3f,
    0x1.1ed3f20000000p-3f, -0x1.f334920000000p-4f, 0x1.1e74da0000000p-3f, -0x1.07b9fe0000000p-3f,
};

// log2(1+f) = f/ln2 + f^2 P(f), sqrt(1/2) <= 1+f <= sqrt(2), relative; weighted error 2^-27.7
static const float kLog2_f32[] = {
    -0x1.7154700000000p-1f, 0x1.ec70940000000p-2f,  -0x1.715afe0000000p-2f,
    0x1.277f440000000p-2f,  -0x1.eaa24a0000000p-3f, 0x1.a2c9dc0000000p-3f,
    -0x1.87f7ec0000000p-3f, 0x1.7f281c0000000p-3f,  -0x1.c39ba60000000p-4f,
};

// sin(x) = x + x^3 P(x^2), |x| <= 0.7933, relative; weighted error 2^-27.8
static const float kSin_f32[] = {
    -0x1.5555440000000p-3f,
    0x1.1106c60000000p-7f,
    -0x1.991c260000000p-13f,
};

// cos(r) = 1 - r^2/2 + r^4 P(r^2), |r| <= pi/4, relative; weighted error 2^-32.7
static const float kCos_f32[] = {
    0x1.55554a0000000p-5f,
    -0x1.6c0c140000000p-10f,
    0x1.99de6a0000000p-16f,
};

// tan(x) = x + x^3 P(x^2), |x| <= 0.7933, relative; weighted error 2^-29.3
static const float kTan_f32[] = {
    0x1.5555620000000p-2f, 0x1.110d120000000p-3f,   0x1.baf30e0000000p-5f, 0x1.5bb6340000000p-6f,
    0x1.684c780000000p-7f, -0x1.f184040000000p-14f, 0x1.25b2c40000000p-8f,
};

// tanh(x) = x + x^3 P(x^2), |x| <= 0.56, relative; weighted error 2^-29.4
static const float kTanh_f32[] = {
    -0x1.5555480000000p-2f, 0x1.110c5e0000000p-3f,  -0x1.b905c40000000p-5f,
    0x1.5811f60000000p-6f,  -0x1.9454f00000000p-8f,
};

// sinh(x) = x + x^3 P(x^2), |x| <= 1.01, relative; weighted error 2^-31.5
static const float kSinh_f32[] = {
    0x1.5555560000000p-3f,
    0x1.1110e20000000p-7f,
    0x1.a021020000000p-13f,
    0x1.75c1e20000000p-19f,
};

// atan(x) = x + x^3 P(x^2), |x| <= 1.0, relative; weighted error 2^-28.5
static const float kAtan_f32[] = {
    -0x1.55553e0000000p-2f, 0x1.9991e40000000p-3f,  -0x1.2420860000000p-3f,
    0x1.c08c480000000p-4f,  -0x1.5808e80000000p-4f, 0x1.da28b20000000p-5f,
    -0x1.fd79b40000000p-6f, 0x1.641dfe0000000p-7f,  -0x1.d3497e0000000p-10f,
};

// asin(x) = x + x^3 P(x^2), |x| <= 0.5, relative; weighted error 2^-27.6
static const float kAsin_f32[] = {
    0x1.5555c80000000p-3f, 0x1.3302040000000p-4f, 0x1.747bba0000000p-5f,
    0x1.8c3e260000000p-6f, 0x1.595c960000000p-5f,
};

// erf(x) = x + x P(x^2), |x| <= 0.9, relative; weighted error 2^-26.1
static const float kErfSmall_f32[] = {
    0x1.06eba60000000p-3f,  -0x1.8126ee0000000p-2f, 0x1.ce1c180000000p-4f,
    -0x1.b6a6d40000000p-6f, 0x1.47ee2e0000000p-8f,  -0x1.3d30e40000000p-11f,
};

static const float kErfSplit_f32 = 0x1.cccccc0000000p-1f;
static const float kErfTop_f32 = 0x1.0000000000000p+2f;

// erfc(x) = 2^P(x - 0.9), 0.9 <= x <= 4, weight erfc(x); weighted error 2^-30.3
static const float kErfLarge_f32[] = {
    -0x1.265fb80000000p+1f, -0x1.c86c9c0000000p+1f, -0x1.328c5c0000000p+0f, -0x1.0eaec60000000p-4f,
    0x1.075ca00000000p-6f,  -0x1.a8a1680000000p-9f, 0x1.fc1e680000000p-12f, -0x1.54f9d20000000p-15f,
};

static const float kErfcTop_f32 = 0x1.6000000000000p+3f;
// erfc(x) = exp(-x^2) P(t) / (1 + 2x), t = (x - 3.75) / (x + 3.75), 0 <= x <= 11, relative; weighted error
// 2^-24.8
static const float kErfc_f32[] = {
    0x1.3ccda00000000p+0f,  -0x1.1f36760000000p-3f, 0x1.d662280000000p-9f,  0x1.5101740000000p-4f,
    -0x1.bdd5480000000p-4f, 0x1.7a0fd80000000p-4f,  -0x1.df3e640000000p-5f, 0x1.d100c00000000p-6f,
    -0x1.4d56280000000p-7f, 0x1.bcef4a0000000p-10f, 0x1.b538ec0000000p-11f,
};

static const double kLn2_1_f64 = 0x1.62e42fefa39efp-1;
static const double kLn2_2_f64 = 0x1.abc9e3b39803fp-56;
static const double kHalfPi_1_f64 = 0x1.921fb54442d18p+0;
static const double kHalfPi_2_f64 = 0x1.1a62633145c06p-54;
static const double kHalfPi_3_f64 = 0x1.c1cd129024e09p-107;
static const double kHalfPi_f64 = 0x1.921fb54442d18p+0;
static const double kHalfPiLow_f64 = 0x1.1a62633145c07p-54;
static const double kLog2e_f64 = 0x1.71547652b82fep+0;
static const double kLog2eLow_f64 = 0x1.777d0ffda0d24p-56;
static const double kLog10e_f64 = 0x1.bcb7b1526e50ep-2;
static const double kLog10eLow_f64 = 0x1.95355baaafad3p-57;
static const double kLog10of2_f64 = 0x1.34413509f79ffp-2;
static const double kLog10of2Low_f64 = -0x1.9dc1da994fd21p-59;
static const double kThird_f64 = 0x1.5555555555555p-2;
static const double kThirdLow_f64 = 0x1.5555555555555p-56;
static const double kTwoLog2e_f64 = 0x1.71547652b82fep+1;
static const double kTwoLog2eLow_f64 = 0x1.777d0ffda0d24p-55;
static const double kTwoOverPi_f64 = 0x1.45f306dc9c883p-1;

// exp(r) = 1 + r + r^2 P(r), |r| <= ln2/2, relative; weighted error 2^-57.9
static const double kExp_f64[] = {
    0x1.000000000000ap-1,  0x1.555555555550ap-3,  0x1.555555555077cp-5,  0x1.1111111124ddap-7,
    0x1.6c16c18444a92p-10, 0x1.a01a013627654p-13, 0x1.a01999e653b37p-16, 0x1.71df105b24dfcp-19,
    0x1.28ad877741ae1p-22, 0x1.ad9ac43b98c54p-26,
};

// 2^r = 1 + r P(r), |r| <= 1/2, relative; weighted error 2^-55.5
static const double kExp2_f64[] = {
    0x1.62e42fefa39f3p-1,  0x1.ebfbdff82c599p-3,  0x1.c6b08d7048dc4p-5,  0x1.3b2ab6fba1b3cp-7,
    0x1.5d87fe7bf7d68p-10, 0x1.4309130a23790p-13, 0x1.ffcbed3b32fefp-17, 0x1.62bfd24ecbfd1p-20,
    0x1.b54342cbd0b0cp-24, 0x1.e60a9567af50cp-28, 0x1.bde53620ad7a8p-32,
};

// expm1(r) = r + r^2 P(r), |r| <= ln2/2, relative; weighted error 2^-55.6
static const double kExpm1_f64[] = {
    0x1.0000000000005p-1,  0x1.555555555554ep-3,  0x1.5555555552256p-5,  0x1.1111111115159p-7,
    0x1.6c16c17ed1bc5p-10, 0x1.a01a0185e8144p-13, 0x1.a019a7ac86d50p-16, 0x1.71de68f7807fep-19,
    0x1.28a19ac9b2557p-22, 0x1.ae955d9f0c1afp-26,
};

// log(1+f) = f - f^2/2 + f^3 P(f), 2/3 <= 1+f <= 4/3, relative; weighted error 2^-56.6
static const double kLog_f64[] = {
    0x1.5555555555543p-2, -0x1.0000000000963p-2, 0x1.999999999e6ccp-3, -0x1.555555540cabep-3,
    0x1.249249216afeap-3, -0x1.00000085ab627p-3, 0x1.c71c73bb7adbcp-4, -0x1.99996204dcdc3p-4,
    0x1.745cc03951c37p-4, -0x1.555c082830cf4p-4, 0x1.3b1ce98bf4f6bp-4, -0x1.2413c8afa9befp-4,
    0x1.107369cb58f54p-4, -0x1.05c55003f02dbp-4, 0x1.ef2a0e464649ap-5, -0x1.76ab8ad9849ffp-5,
    0x1.5885a4f8e7a73p-5, -0x1.614400bf7329bp-4, 0x1.59f694a682c16p-4,
};

// log2(1+f) = f/ln2 + f^2 P(f), sqrt(1/2) <= 1+f <= sqrt(2), relative; weighted error 2^-59.3
static const double kLog2_f64[] = {
    -0x1.71547652b82fep-1, 0x1.ec709dc3a041ap-2, -0x1.71547652b8225p-2, 0x1.2776c50ef67e0p-2,
    -0x1.ec709dc3bc1e9p-3, 0x1.a61762ab93eeap-3, -0x1.7154764a8b99cp-3, 0x1.484b12b7b4b90p-3,
    -0x1.2776c5b93b8bap-3, 0x1.0c9ab30bb59d2p-3, -0x1.ec70cfba83f14p-4, 0x1.c6867b7d08a6bp-4,
    -0x1.a60a6d468102fp-4, 0x1.8a72b9dbfe620p-4, -0x1.727ed90a21091p-4, 0x1.57d15879922ebp-4,
    -0x1.3ad226a76eb40p-4, 0x1.3ffa437618c73p-4, -0x1.72a430b210887p-4, 0x1.509f67520af9fp-4,
    -0x1.1f16343039240p-5,
};

// sin(x) = x + x^3 P(x^2), |x| <= 0.7933, relative; weighted error 2^-63.2
static const double kSin_f64[] = {
    -0x1.5555555555555p-3,  0x1.111111111106cp-7,  -0x1.a01a019fff476p-13, 0x1.71de3a3554c4ep-19,
    -0x1.ae642efc9f27cp-26, 0x1.610bb139e11d9p-33, -0x1.a1108d6138786p-41,
};

// cos(r) = 1 - r^2/2 + r^4 P(r^2), |r| <= pi/4, relative; weighted error 2^-63.7
static const double kCos_f64[] = {
    0x1.5555555555549p-5,   -0x1.6c16c16c14bd0p-10, 0x1.a01a019c251bap-16,
    -0x1.27e4f7a51b396p-22, 0x1.1ee9a7ceda5fdp-29,  -0x1.8f8b8b4194a8ap-37,
};

// tan(x) = x + x^3 P(x^2), |x| <= 0.7933, relative; weighted error 2^-55.7
static const double kTan_f64[] = {
    0x1.55555555554cbp-2,   0x1.111111111ac01p-3,  0x1.ba1ba1b285fbfp-5,   0x1.664f4a02432c5p-6,
    0x1.226e08932972ep-7,   0x1.d6da90ee4e03fp-9,  0x1.7d4af39d00740p-10,  0x1.3883588bcdffep-11,
    0x1.cc3120ae0212cp-13,  0x1.2aee70d80ea9fp-13, -0x1.23f69e7319f99p-15, 0x1.976acd47b1e3fp-14,
    -0x1.9b0310ca0dcd6p-15, 0x1.6e8a66b9f9833p-16,
};

// tanh(x) = x + x^3 P(x^2), |x| <= 0.56, relative; weighted error 2^-60.0
static const double kTanh_f64[] = {
    -0x1.555555555554cp-2,  0x1.1111111110393p-3,  -0x1.ba1ba1b94246cp-5,  0x1.664f484c12c9dp-6,
    -0x1.226e2d5ae08a6p-7,  0x1.d6d2555ba49b0p-9,  -0x1.7d8c44d3b06dep-10, 0x1.346636d986cd1p-11,
    -0x1.e842179fe9332p-13, 0x1.5a0ef5f2886b1p-14, -0x1.3ea409c32a946p-16,
};

// sinh(x) = x + x^3 P(x^2), |x| <= 1.01, relative; weighted error 2^-62.9
static const double kSinh_f64[] = {
    0x1.5555555555555p-3,  0x1.1111111111199p-7,  0x1.a01a01a007c7bp-13, 0x1.71de3a67e90e8p-19,
    0x1.ae64427a296bcp-26, 0x1.61304827c9fc9p-33, 0x1.a729ee290016ap-41, 0x1.b591dc8373723p-48,
};

// atan(x) = x + x^3 P(x^2), |x| <= 1.0, relative; weighted error 2^-57.6
static const double kAtan_f64[] = {
    -0x1.5555555555526p-2, 0x1.999999999559fp-3,  -0x1.249249237eeb4p-3,  0x1.c71c717fb2ed7p-4,
    -0x1.745d11ac5f8f1p-4, 0x1.3b13668171d08p-4,  -0x1.110e505dfc0eep-4,  0x1.e1bb9d3e20577p-5,
    -0x1.ae5e4aeb389e0p-5, 0x1.82da547b774a5p-5,  -0x1.59a2b3168f374p-5,  0x1.2c2bd0cb01fc5p-5,
    -0x1.e9f24822e7cf0p-6, 0x1.68339b67c7b84p-6,  -0x1.c77f2ec260cf4p-7,  0x1.d7a28ac0d011fp-8,
    -0x1.7a233c33382b2p-9, 0x1.b3dc6e23fbdecp-11, -0x1.3f1d03ef1d767p-13, 0x1.bbc6abad55e50p-17,
};

// asin(x) = x + x^3 P(x^2), |x| <= 0.5, relative; weighted error 2^-59.9
static const double kAsin_f64[] = {
    0x1.5555555555577p-3, 0x1.333333332e132p-4, 0x1.6db6db721258cp-5, 0x1.f1c71a94f8c82p-6,
    0x1.6e8bdedfa1172p-6, 0x1.1c49f0673ff24p-6, 0x1.ca1f8c8c3b8bep-7, 0x1.7585904465cc2p-7,
    0x1.613c6adbfa198p-7, 0x1.e5f7565f8e0eap-9, 0x1.639bf125848d3p-6, -0x1.57fcd2f6c6868p-6,
    0x1.0b468c148dd55p-5,
};

// erf(x) = x + x P(x^2), |x| <= 1, relative; weighted error 2^-56.3
static const double kErfSmall_f64[] = {
    0x1.06eba8214db69p-3,  -0x1.812746b037a25p-2,  0x1.ce2f21a0458dcp-4,  -0x1.b82ce313551abp-6,
    0x1.565bcd2c7b6cap-8,  -0x1.c02db93a48420p-11, 0x1.f9a3ba7eabbf7p-14, -0x1.f4dd0f09a01d5p-17,
    0x1.ba6af1ad804bep-20, -0x1.63a3d4d2d02a5p-23, 0x1.1398e4a7414d0p-26, -0x1.c80f045b76991p-30,
    0x1.40b632fbb7f08p-33,
};

static const double kErfSplit_f64 = 0x1.0000000000000p+0;
static const double kErfTop_f64 = 0x1.8000000000000p+2;

// erfc(x) = 2^P(x - 1), 1 <= x <= 6, weight erfc(x); weighted error 2^-56.7
static const double kErfLarge_f64[] = {
    -0x1.558eada6637f3p+1,  -0x1.e75328fe78c23p+1, -0x1.37627e9b5e453p+0,  -0x1.eb313682066dbp-5,
    0x1.da5762e62ebc3p-7,   -0x1.7603a7f32e0fep-9, 0x1.66f7333351959p-12,  0x1.3fbb985be34bcp-15,
    -0x1.4df9fea166030p-15, 0x1.00dbd700f7af6p-16, -0x1.70657beb19abfp-18, 0x1.e0359ded8d349p-19,
    -0x1.c44a037262468p-19, 0x1.75a34ba979046p-19, -0x1.e40a36c18ef25p-20, 0x1.e6caac56a9aeep-21,
    -0x1.7aaadee80bf5cp-22, 0x1.c2ef37782360dp-24, -0x1.92d8bc66d6ea4p-26, 0x1.04e85f68f29a4p-28,
    -0x1.ce01fd5e4f621p-32, 0x1.f38beac321b18p-36, -0x1.f0eb567e8ffa0p-41,
};

static const double kErfcTop_f64 = 0x1.c000000000000p+4;
// erfc(x) = exp(-x^2) P(t) / (1 + 2x), t = (x - 3.75) / (x + 3.75), 0 <= x <= 28, relative; weighted error
// 2^-53.2
static const double kErfc_f64[] = {
    0x1.3ccda0b5d5dc3p+0,  -0x1.1f367683f89acp-3,  0x1.d5f294814a544p-9,   0x1.510169d096880p-4,
    -0x1.bda9309a13c22p-4, 0x1.7a14188aa6c9ap-4,   -0x1.e0d0fa710b32fp-5,  0x1.d0b003772cd84p-6,
    -0x1.3f603bba6c2e0p-7, 0x1.cc3a136cc909ap-10,  0x1.33facd5a11fc1p-12,  -0x1.30402dd06d3cap-12,
    0x1.b14d7d9bcd673p-15, 0x1.77ae8a3ee7cb8p-16,  -0x1.804ed9f2ef164p-17, -0x1.0ac47cb3a78c3p-20,
    0x1.d8892f32725e8p-20, -0x1.cfd100e4cb317p-26, -0x1.1559c993d8bafp-22, -0x1.fe84132ecb9e9p-30,
    0x1.0781c7034fde8p-25, 0x1.764df2245442cp-28,
};

// log2(1+f) = f P(f), sqrt(1/2) <= 1+f <= sqrt(2), for pow in binary32; weighted error 2^-41.1
static const double kPowLog_f64[] = {
    0x1.71547652b89dfp+0, -0x1.715476528d471p-1, 0x1.ec709dbd23ee4p-2, -0x1.715476b4456f7p-2,
    0x1.2776c940dd469p-2, -0x1.ec7061deb9d6dp-3, 0x1.a6154661938a8p-3, -0x1.715b8d98be94bp-3,
    0x1.488d075edf808p-3, -0x1.272b9f145b9c6p-3, 0x1.087caa47db2e3p-3, -0x1.e9fc93fd43f49p-4,
    0x1.024d39ad29a92p-3, -0x1.f9f0d445a02fap-4, 0x1.02ca815432ec8p-4,
};

// 2^r = 1 + r P(r), |r| <= 1/2, for pow in binary32; weighted error 2^-32.0
static const double kPowExp2_f64[] = {
    0x1.62e4300b9a81dp-1,  0x1.ebfbe045730b5p-3,  0x1.c6b0552479fecp-5,  0x1.3b2a1bef64f37p-7,
    0x1.5dc04895e105fp-10, 0x1.443f9cea8763ap-13, 0x1.c053dbcee9cecp-17,
};

// atanh(s) = s (1 + z/3 + z^2 P(z)), z = s^2, for pow in binary64; weighted error 2^-77.0
static const double kPowAtanh_f64[] = {
    0x1.999999999999ap-3, 0x1.2492492492363p-3, 0x1.c71c71c747eb9p-4,
    0x1.745d172bc6687p-4, 0x1.3b13ba5bf7972p-4, 0x1.110f1bc7fb743p-4,
    0x1.e265a43a620b5p-5, 0x1.a505a66be465fp-5, 0x1.ecbf313879d59p-5,
};
