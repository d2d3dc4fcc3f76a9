kernel void mandel(global uint *out) {
    uint x = get_global_id(0), y = get_global_id(1);
    float cr = x * (3.0f / 256.0f) - 2.0f, ci = y * (2.0f / 256.0f) - 1.0f;
    float zr = 0, zi = 0;
    uint n = 0;
    while (n < 64 && zr * zr + zi * zi < 4.0f) {
        float t = zr * zr - zi * zi + cr;
        zi = 2 * zr * zi + ci;
        zr = t;
        ++n;
    }
    out[y * 256 + x] = n;
}
