# llama.cpp's server for the CPU, built from the sources that llama-cpp-python 0.3.36 ships. Needs cmake and g++.
llama=0.3.36
software="llama.cpp for the CPU, build" engine=llamacpp url=http://127.0.0.1:8000 pages=http://127.0.0.1:8000/metrics exact=yes records=llamacpp-VERSION-cpu.prom=0

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
  "$bin/engines" gguf "$work/tiny-llama.gguf"
  serve llama "$CACHE/llama.cpp-$llama/llama-server" -m "$work/tiny-llama.gguf" -a tiny-llama -c 16384 -np 4 -t 2 --metrics \
    --host 127.0.0.1 --port 8000
  ready llama http://127.0.0.1:8000/health ok
}

# It counts prompt tokens that were computed apart from those of its cache, and no requests: these are lines of its log.
version() { said_by "$url/props" '"build_info":"\K[^"]+'; }
title() { version; }
context() { said_by "$url/props" '"n_ctx":\K\d+'; }
counts() {
  count requests "$(grep -c 'stop processing: n_tokens' "$work/llama.log")"
  count "tokens in" "$(plus "$(sum llamacpp:prompt_tokens_total)" "$(sum llamacpp:prompt_tokens_cached_total)")"
  count "tokens out" "$(sum llamacpp:tokens_predicted_total)"
  count "cached tokens" "$(sum llamacpp:prompt_tokens_cached_total)"
}
machine() {
  count "prompt tokens" "$(plus "$(sum llamacpp:prompt_tokens_total)" "$(sum llamacpp:prompt_tokens_cached_total)")"
  count "generated tokens" "$(sum llamacpp:tokens_predicted_total)"
  count hits "$(sum llamacpp:prompt_tokens_cached_total)"
  count misses "$(sum llamacpp:prompt_tokens_total)"
  count "KV tokens" $(($(in_log llama 'n_slots = \K\d+') * $(in_log llama 'n_ctx_slot = \K\d+')))
}
grade() { :; }
why() { case $1/$2 in "exporter/KV tokens") echo "several slots: the answer does not show whether they share one cache" ;; esac; }
