RWBuffer<int> Out : register(u0);

[numthreads(1, 1, 1)]
void broken() {
    Out[0] = missing(1);
}
