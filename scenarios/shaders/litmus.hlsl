// Small kernels that scenarios put together: X is written, read and used as
// constants and arguments; what was seen goes to Out.
ByteAddressBuffer In : register(t0);
RWByteAddressBuffer X : register(u0);
RWByteAddressBuffer Out : register(u1);
RWByteAddressBuffer Y : register(u2);
globallycoherent RWByteAddressBuffer XC : register(u3);
cbuffer C : register(b0) { uint4 c[16]; };
groupshared uint shared_words[64];

[numthreads(64, 1, 1)]
void Store(uint3 id : SV_DispatchThreadID) { X.Store(id.x * 4, 100 + id.x); }

[numthreads(64, 1, 1)]
void StoreOther(uint3 id : SV_DispatchThreadID) { X.Store(id.x * 4, 200 + id.x); }

[numthreads(64, 1, 1)]
void StoreY(uint3 id : SV_DispatchThreadID) { Y.Store(id.x * 4, 300 + id.x); }

[numthreads(64, 1, 1)]
void Read(uint3 g : SV_GroupID, uint i : SV_GroupIndex) {
    Out.Store((g.x * 64 + i) * 4, In.Load(i * 4));
}

[numthreads(64, 1, 1)]
void ReadThrough(uint3 g : SV_GroupID, uint i : SV_GroupIndex) {
    Out.Store((g.x * 64 + i) * 4, X.Load(i * 4));
}

[numthreads(64, 1, 1)]
void ReadY(uint3 g : SV_GroupID, uint i : SV_GroupIndex) {
    Out.Store((g.x * 64 + i) * 4, Y.Load(i * 4));
}

[numthreads(64, 1, 1)]
void Constants(uint3 g : SV_GroupID, uint i : SV_GroupIndex) {
    Out.Store((g.x * 64 + i) * 4, c[i / 4][i % 4]);
}

// X becomes Y's content.
[numthreads(64, 1, 1)]
void Forward(uint3 id : SV_DispatchThreadID) { Y.Store(id.x * 4, X.Load(id.x * 4) + 1); }

// Store buffering, one side each.
[numthreads(1, 1, 1)]
void StoreXReadY() { X.Store(0, 1); Out.Store(0, Y.Load(0)); }
[numthreads(1, 1, 1)]
void StoreYReadX() { Y.Store(0, 1); Out.Store(4, X.Load(0)); }

// Load buffering, one side each.
[numthreads(1, 1, 1)]
void ReadXStoreY() { Out.Store(0, X.Load(0)); Y.Store(0, 1); }
[numthreads(1, 1, 1)]
void ReadYStoreX() { Out.Store(4, Y.Load(0)); X.Store(0, 1); }

// Both words, in one order and in the other.
[numthreads(1, 1, 1)]
void StoreBothXY() { X.Store(0, 1); Y.Store(0, 2); }
[numthreads(1, 1, 1)]
void StoreBothYX() { Y.Store(0, 1); X.Store(0, 2); }

// Two reads of one word.
[numthreads(1, 1, 1)]
void ReadTwice() { Out.Store(0, X.Load(0)); Out.Store(4, X.Load(0)); }

[numthreads(1, 1, 1)]
void Arguments() { X.Store3(0, uint3(2, 1, 1)); }

[numthreads(1, 1, 1)]
void Count() { uint old; Out.InterlockedAdd(0, 1, old); }

[numthreads(64, 1, 1)]
void Add(uint i : SV_GroupIndex) { uint old; X.InterlockedAdd(i * 4, 1, old); }

// Every group writes the same words, plainly.
[numthreads(64, 1, 1)]
void StoreByAll(uint3 g : SV_GroupID, uint i : SV_GroupIndex) { X.Store(i * 4, g.x); }

// Group-shared memory, with and without the barrier.
[numthreads(128, 1, 1)]
void SharedRace(uint i : SV_GroupIndex) {
    if (i < 64) shared_words[i] = i;
    if (i >= 64) Out.Store((i - 64) * 4, shared_words[i - 64]);
}
[numthreads(128, 1, 1)]
void SharedOrder(uint i : SV_GroupIndex) {
    if (i < 64) shared_words[i] = i;
    GroupMemoryBarrierWithGroupSync();
    if (i >= 64) Out.Store((i - 64) * 4, shared_words[i - 64]);
}

// One group passes a word to the next through memory: plainly, and as the memory
// model asks (globallycoherent, barrier, atomic flag).
[numthreads(1, 1, 1)]
void PassPlain(uint3 g : SV_GroupID) {
    if (g.x == 0) { X.Store(0, 7); X.Store(128, 1); }
    else { Out.Store(4, X.Load(128)); Out.Store(0, X.Load(0)); }
}
[numthreads(1, 1, 1)]
void PassCoherent(uint3 g : SV_GroupID) {
    uint seen = 0;
    if (g.x == 0) {
        XC.Store(0, 7);
        DeviceMemoryBarrier();
        XC.InterlockedExchange(128, 1, seen);
    } else {
        [allow_uav_condition]
        for (uint n = 0; n < 10000 && seen == 0; ++n) XC.InterlockedAdd(128, 0, seen);
        DeviceMemoryBarrier();
        Out.Store(0, XC.Load(0));
        Out.Store(4, seen);
    }
}

// Both words, one reader in each order.
[numthreads(1, 1, 1)]
void ReadXThenY() { Out.Store(0, X.Load(0)); Out.Store(4, Y.Load(0)); }
[numthreads(1, 1, 1)]
void ReadYThenX() { Out.Store(128, Y.Load(0)); Out.Store(132, X.Load(0)); }
