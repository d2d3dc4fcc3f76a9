RWStructuredBuffer<uint> In : register(u0);
RWStructuredBuffer<uint> Bins : register(u1);
groupshared uint l[256];
[numthreads(256, 1, 1)]
void main(uint3 id : SV_DispatchThreadID, uint i : SV_GroupIndex) {
    l[i] = 0;
    GroupMemoryBarrierWithGroupSync();
    InterlockedAdd(l[(In[id.x] * 2654435761u) >> 24], 1);
    GroupMemoryBarrierWithGroupSync();
    InterlockedAdd(Bins[i], l[i]);
}
