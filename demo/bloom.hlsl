// The glow around bright places, at a quarter of the photo's size: keep what is
// bright, then blur along rows and along columns.

Texture2D<float4> Input : register(t0);
RWTexture2D<float4> Output : register(u0);
cbuffer Size : register(b0) { uint Width; uint Height; uint SmallWidth; uint SmallHeight; };

static const int Radius = 12;
static const uint Line = 64;

groupshared float3 Row[Line + 2 * Radius];

// Averages 4 x 4 pixels, in linear light, and keeps the part above the threshold.
[numthreads(8, 8, 1)]
void bright(uint3 id : SV_DispatchThreadID)
{
    if (id.x >= SmallWidth || id.y >= SmallHeight)
        return;
    float3 sum = 0.0;
    for (uint y = 0; y < 4; y++) {
        for (uint x = 0; x < 4; x++) {
            uint2 at = min(id.xy * 4 + uint2(x, y), uint2(Width - 1, Height - 1));
            float3 color = Input.Load(int3(at, 0)).rgb;
            sum += color * color;
        }
    }
    float3 mean = sum / 16.0;
    float level = dot(mean, float3(0.2126, 0.7152, 0.0722));
    Output[id.xy] = float4(mean * smoothstep(0.35, 0.9, level), 1.0);
}

float3 Blur(uint2 group, uint lane, uint2 axis)
{
    // A group loads its run of pixels and the margins once.
    int2 last = int2(SmallWidth, SmallHeight) - 1;
    for (uint i = lane; i < Line + 2 * Radius; i += Line) {
        int along = int(group.x * Line + i) - Radius;
        int2 at = axis.x != 0 ? int2(along, group.y) : int2(group.y, along);
        Row[i] = Input.Load(int3(clamp(at, int2(0, 0), last), 0)).rgb;
    }
    GroupMemoryBarrierWithGroupSync();
    float3 sum = 0.0;
    float weights = 0.0;
    for (int k = -Radius; k <= Radius; k++) {
        float weight = exp(-float(k * k) / 50.0);
        sum += Row[int(lane) + Radius + k] * weight;
        weights += weight;
    }
    return sum / weights;
}

[numthreads(64, 1, 1)]
void blur_rows(uint3 group : SV_GroupID, uint lane : SV_GroupIndex)
{
    float3 color = Blur(group.xy, lane, uint2(1, 0));
    uint2 at = uint2(group.x * Line + lane, group.y);
    if (at.x < SmallWidth)
        Output[at] = float4(color, 1.0);
}

[numthreads(64, 1, 1)]
void blur_columns(uint3 group : SV_GroupID, uint lane : SV_GroupIndex)
{
    float3 color = Blur(group.xy, lane, uint2(0, 1));
    uint2 at = uint2(group.y, group.x * Line + lane);
    if (at.y < SmallHeight)
        Output[at] = float4(color, 1.0);
}
