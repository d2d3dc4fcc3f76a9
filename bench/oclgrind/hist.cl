kernel void hist(global const uint *in, global uint *bins) {
    local uint l[256];
    uint i = get_local_id(0);
    l[i] = 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    uint v = in[get_global_id(0)];
    atomic_inc(&l[(v * 2654435761u) >> 24]);
    barrier(CLK_LOCAL_MEM_FENCE);
    atomic_add(&bins[i], l[i]);
}
