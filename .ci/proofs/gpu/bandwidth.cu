// Prints the bandwidth of GPU memory in GB/s, best of 50, by CUDA's runtime: copies of 128 MiB in groups of ten, copies of
// 1 GiB, and a kernel that only reads 2 GiB.
#include <cstdio>
#include <cstdlib>

static void check(cudaError_t code) {
  if (code == cudaSuccess) return;
  fprintf(stderr, "%s\n", cudaGetErrorString(code));
  exit(1);
}

__global__ void add(const float4 *from, size_t n, float *to) {
  float sum = 0;
  for (size_t i = blockIdx.x * size_t(blockDim.x) + threadIdx.x; i < n; i += size_t(gridDim.x) * blockDim.x) {
    const float4 v = from[i];
    sum += v.x + v.y + v.z + v.w;
  }
  if (sum == 1.5f) *to = sum; // never: keeps the reads
}

template <typename Work> static void measure(const char *name, double bytes, Work work) {
  cudaEvent_t start, stop;
  check(cudaEventCreate(&start));
  check(cudaEventCreate(&stop));
  float best = 1e30f;
  for (int i = 0; i < 60; i++) {
    check(cudaEventRecord(start));
    work();
    check(cudaEventRecord(stop));
    check(cudaEventSynchronize(stop));
    float ms;
    check(cudaEventElapsedTime(&ms, start, stop));
    if (i >= 10 && ms < best) best = ms;
  }
  printf("%s %.1f\n", name, bytes / best / 1e6);
}

int main() {
  const size_t gib = size_t(1) << 30;
  char *memory;
  float *sum;
  check(cudaMalloc(&memory, 2 * gib));
  check(cudaMalloc(&sum, sizeof *sum));
  check(cudaMemset(memory, 0, 2 * gib));
  measure("copy_128MiB", 2.0 * 10 * (gib / 8), [&] {
    for (int i = 0; i < 10; i++) check(cudaMemcpyAsync(memory + gib / 8, memory, gib / 8, cudaMemcpyDeviceToDevice));
  });
  measure("copy_1GiB", 2.0 * gib, [&] { check(cudaMemcpyAsync(memory + gib, memory, gib, cudaMemcpyDeviceToDevice)); });
  cudaDeviceProp part;
  check(cudaGetDeviceProperties(&part, 0));
  measure("read_2GiB", 2.0 * gib, [&] { add<<<part.multiProcessorCount * 16, 256>>>((const float4 *)memory, 2 * gib / sizeof(float4), sum); });
  check(cudaDeviceSynchronize());
}
