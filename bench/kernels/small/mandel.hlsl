RWStructuredBuffer<uint> Out : register(u0);
[numthreads(8, 8, 1)]
void main(uint3 id : SV_DispatchThreadID) {
    precise float cr = id.x * (3.0 / 256.0) - 2.0, ci = id.y * (2.0 / 256.0) - 1.0;
    precise float zr = 0, zi = 0;
    uint n = 0;
    while (n < 64 && zr * zr + zi * zi < 4.0) {
        precise float t = zr * zr - zi * zi + cr;
        zi = 2 * zr * zi + ci;
        zr = t;
        ++n;
    }
    Out[id.y * 256 + id.x] = n;
}
