RWStructuredBuffer<float> A : register(u0);
RWStructuredBuffer<float> B : register(u1);
RWStructuredBuffer<float> C : register(u2);
groupshared float ta[16][16], tb[16][16];
[numthreads(16, 16, 1)]
void main(uint3 id : SV_DispatchThreadID, uint3 t : SV_GroupThreadID) {
    float sum = 0;
    for (uint k = 0; k < 128; k += 16) {
        ta[t.y][t.x] = A[id.y * 128 + k + t.x];
        tb[t.y][t.x] = B[(k + t.y) * 128 + id.x];
        GroupMemoryBarrierWithGroupSync();
        for (uint i = 0; i < 16; ++i) sum += ta[t.y][i] * tb[i][t.x];
        GroupMemoryBarrierWithGroupSync();
    }
    C[id.y * 128 + id.x] = sum;
}
