// The tone curve: black and white points where half a percent of the pixels lies
// beyond, an S-curve between them, and a share of histogram equalisation.

StructuredBuffer<uint> Histogram : register(t0);
RWStructuredBuffer<float> Curve : register(u0);
cbuffer Size : register(b0) { uint Width; uint Height; };

groupshared float Sum[256];
groupshared uint Black;
groupshared uint White;
groupshared float Total;

// Sum[i] becomes the sum of the first i + 1 values.
float Scan(uint i, float value)
{
    Sum[i] = value;
    GroupMemoryBarrierWithGroupSync();
    for (uint step = 1; step < 256; step *= 2) {
        float before = i >= step ? Sum[i - step] : 0.0;
        GroupMemoryBarrierWithGroupSync();
        Sum[i] += before;
        GroupMemoryBarrierWithGroupSync();
    }
    float result = Sum[i];
    GroupMemoryBarrierWithGroupSync();
    return result;
}

[numthreads(256, 1, 1)]
void main(uint i : SV_GroupIndex)
{
    float share = float(Histogram[i]) / float(Width * Height);
    if (i == 0) {
        Black = 0;
        White = 255;
    }
    float below = Scan(i, share);
    if (below <= 0.005)
        InterlockedMax(Black, i);
    if (below >= 0.995)
        InterlockedMin(White, i);
    // Equalisation stretches wherever many pixels crowd; the cap keeps flat
    // surfaces from turning to noise.
    float equalised = Scan(i, min(share, 3.0 / 256.0));
    if (i == 255)
        Total = equalised;
    GroupMemoryBarrierWithGroupSync();
    float x = saturate((float(i) - float(Black)) / max(float(White) - float(Black), 1.0));
    float curve = x * x * (3.0 - 2.0 * x);
    Curve[i] = lerp(lerp(x, curve, 0.6), equalised / Total, 0.3);
}
