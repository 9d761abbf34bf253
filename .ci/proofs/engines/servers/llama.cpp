# llama.cpp's server for the CPU, built from the sources that llama-cpp-python 0.3.36 ships. Needs cmake and g++.
llama=0.3.36

install() {
  local folder=$CACHE/llama.cpp-$llama work
  [ -x "$folder/llama-server" ] && return
  for tool in cmake g++ make python3; do command -v $tool >/dev/null || { echo "$tool is missing"; return 1; }; done
  work=$folder.building
  rm -rf "$work" && mkdir -p "$work" || return
  python3 -m pip download --quiet --no-cache-dir --no-deps --no-binary :all: -d "$work" "llama-cpp-python==$llama" &&
    tar xzf "$work/llama_cpp_python-$llama.tar.gz" -C "$work" --strip-components=3 "llama_cpp_python-$llama/vendor/llama.cpp" &&
    cmake -S "$work" -B "$work/b" -DCMAKE_BUILD_TYPE=Release -DBUILD_SHARED_LIBS=OFF -DLLAMA_BUILD_TESTS=OFF -DLLAMA_BUILD_EXAMPLES=OFF \
      -DLLAMA_BUILD_APP=OFF -DLLAMA_BUILD_UI=OFF -DLLAMA_USE_PREBUILT_UI=OFF -DLLAMA_OPENSSL=OFF &&
    cmake --build "$work/b" --target llama-server --parallel "$(nproc)" &&
    mkdir -p "$folder" && cp "$work/b/bin/llama-server" "$folder/" && rm -rf "$work"
}

# 4 slots of 4096 tokens each.
start() {
  "$ENGINES_BIN/engines" gguf "$ENGINES_WORK/tiny-llama.gguf" "$here/../../../LICENSE"
  launch llama "$CACHE/llama.cpp-$llama/llama-server" -m "$ENGINES_WORK/tiny-llama.gguf" -a tiny-llama -c 16384 -np 4 -t 2 --metrics \
    --host 127.0.0.1 --port 8000
  ready llama http://127.0.0.1:8000/health ok
}
