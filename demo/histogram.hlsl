// How often each of 256 brightness levels occurs in the photo. A group counts its
// 16 x 16 pixels in group-shared memory and adds what it found to the whole.

Texture2D<float4> Photo : register(t0);
RWStructuredBuffer<uint> Histogram : register(u0);
cbuffer Size : register(b0) { uint Width; uint Height; };

groupshared uint Bins[256];

[numthreads(16, 16, 1)]
void main(uint3 id : SV_DispatchThreadID, uint index : SV_GroupIndex)
{
    Bins[index] = 0;
    GroupMemoryBarrierWithGroupSync();
    if (id.x < Width && id.y < Height) {
        float3 color = Photo.Load(int3(id.xy, 0)).rgb;
        float luma = dot(color, float3(0.2126, 0.7152, 0.0722));
        InterlockedAdd(Bins[min(uint(luma * 255.0 + 0.5), 255u)], 1);
    }
    GroupMemoryBarrierWithGroupSync();
    if (Bins[index] != 0)
        InterlockedAdd(Histogram[index], Bins[index]);
}
