kernel void matmul(global const float *a, global const float *b, global float *c) {
    local float ta[16][16], tb[16][16];
    uint x = get_local_id(0), y = get_local_id(1);
    uint col = get_global_id(0), row = get_global_id(1);
    float sum = 0;
    for (uint k = 0; k < 128; k += 16) {
        ta[y][x] = a[row * 128 + k + x];
        tb[y][x] = b[(k + y) * 128 + col];
        barrier(CLK_LOCAL_MEM_FENCE);
        for (uint i = 0; i < 16; ++i) sum += ta[y][i] * tb[i][x];
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    c[row * 128 + col] = sum;
}
