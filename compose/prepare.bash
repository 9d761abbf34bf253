# What up does, step by step. It is a file of its own so that each can be read alone.
# shellcheck shell=bash

# need_docker says which of the things that nothing works without is missing.
need_docker() {
  command -v docker >/dev/null || fail "docker is not installed: see https://docs.docker.com/engine/install/"
  local version
  version=$(docker compose version --short 2>/dev/null) || fail "docker has no compose: install the package docker-compose-plugin"
  version=${version#v}
  # 2.24 is the first that can replace lists, as the files here do. A version that is no number was built by hand.
  if [[ $version =~ ^([0-9]+)\.([0-9]+) ]] && ((BASH_REMATCH[1] * 1000 + BASH_REMATCH[2] < 2024)); then
    fail "docker compose is $version, and 2.24 or later is needed"
  fi
  # From 5 on compose builds with buildx alone, and without it by a builder that does not know our Dockerfiles' language.
  if [[ $version =~ ^([0-9]+)\. ]] && ((BASH_REMATCH[1] >= 5)) && [ ! -e digests.yaml ]; then
    docker buildx version >/dev/null 2>&1 || fail "docker has no buildx, which builds the images: install the package docker-buildx-plugin (docker-buildx of Debian and Ubuntu)"
  fi
  local trouble
  trouble=$(docker info --format '{{.ServerVersion}}' 2>&1 >/dev/null) || fail "the Docker engine does not answer: ${trouble##*$'\n'}"
}

# setting is what compose takes a variable from: the environment, else .env, else what compose.yaml has without
# either, which .env.example repeats.
setting() {
  local value=${!1-}
  if [ -z "$value" ] && [ -r .env ]; then
    value=$(sed -n "s/^$1=//p" .env | tail -n 1)
    case $value in # as compose reads it: without quotes, or without spaces and a comment after it
      \"*\"*) value=${value#\"} value=${value%%\"*} ;;
      \'*\'*) value=${value#\'} value=${value%%\'*} ;;
      *) value=${value%%[[:space:]]#*} value=${value%"${value##*[![:space:]]}"} ;;
    esac
  fi
  [ -n "$value" ] || value=$(sed -n "s/^$1=//p" .env.example | tail -n 1)
  printf '%s\n' "$value"
}

# make_env writes .env for this machine and the profile, if there is none.
make_env() {
  [ ! -e .env ] || return 0
  local uid=${SUDO_UID:-$(id -u)} gid=${SUDO_GID:-$(id -g)}
  if [ "$uid" = 0 ]; then uid=65534 gid=65534; fi # no container needs root to write runs
  local files
  files=$(gpu_files)
  [ ! -e digests.yaml ] || files=$files:digests.yaml # a release
  sed -e "s/^COMPOSE_PROFILES=.*/COMPOSE_PROFILES=$1/" -e "s/^COMPOSE_FILE=.*/COMPOSE_FILE=$files/" \
    -e "s/^UMASCOPE_HOST=.*/UMASCOPE_HOST=$(uname -n)/" \
    -e "s/^UMASCOPE_UID=.*/UMASCOPE_UID=$uid/" -e "s/^UMASCOPE_GID=.*/UMASCOPE_GID=$gid/" .env.example >.env.new
  mv .env.new .env
  give_to_caller .env
  echo "Wrote .env; this machine is called $(uname -n) in it."
  [ "$files" = compose.yaml ] || echo "COMPOSE_FILE in it is $files."
}

# keep_profile makes .env mean the profile that was asked for, or docker compose down, ps and logs would mean another one.
# What is no single profile of ours is somebody's own and stays.
keep_profile() {
  local said
  said=$(sed -n 's/^COMPOSE_PROFILES=//p' .env | tail -n 1)
  case $said in
    "$1") ;;
    default | exporter | hub | sim)
      sed "s/^COMPOSE_PROFILES=$said\$/COMPOSE_PROFILES=$1/" .env >.env.new
      cat .env.new >.env # whose it is stays too
      rm .env.new
      echo "COMPOSE_PROFILES in .env is now $1; it was $said."
      ;;
    *) echo "COMPOSE_PROFILES=$said in .env stays, and is what docker compose means without --profile $1." >&2 ;;
  esac
}

# need_settings looks at what Compose would complain of without naming it, or would silently take for something else.
need_settings() {
  local variable port
  if grep -q '^COMPOSE_FILE=[[:space:]]*$' .env; then fail "COMPOSE_FILE in .env is empty: compose.yaml, or what .env.example says"; fi
  for variable in $(published "$1"); do
    port=$(setting "$variable")
    if ! [[ $port =~ ^[1-9][0-9]{0,4}$ ]] || ((port > 65535)); then fail "$variable=$port in .env: a port is a number up to 65535"; fi
  done
}

# gpu_files are the compose files that fit the way Docker gets at GPUs here.
gpu_files() {
  if command -v nvidia-container-runtime-hook >/dev/null || docker info --format '{{json .Runtimes}}' | grep -q nvidia; then
    echo compose.yaml
  elif compgen -G '/etc/cdi/nvidia*' >/dev/null || compgen -G '/var/run/cdi/nvidia*' >/dev/null; then
    echo compose.yaml:cdi.yaml
  else
    echo "Docker has no NVIDIA runtime: no-gpu.yaml is added, and there will be no figures of a GPU of this machine." >&2
    [ ! -e /dev/nvidiactl ] || echo "There is a GPU: install the NVIDIA container toolkit, then set COMPOSE_FILE=compose.yaml in .env." >&2
    echo compose.yaml:no-gpu.yaml
  fi
}

# give_to_caller lets whoever called sudo change what was made.
give_to_caller() { [ -z "${SUDO_UID:-}" ] || chown "$SUDO_UID:${SUDO_GID:-$SUDO_UID}" "$@"; }

# make_files writes what the profile mounts and is not there.
make_files() {
  case $1 in
    sim) return ;; # it needs nothing
    default | hub) make_secrets ;;
  esac
  case $1 in
    default | exporter)
      if [ ! -e engines/engines.yml ]; then
        { echo "# Engines of this machine; see example.yml. None:"; echo "[]"; } >engines/engines.yml
        share engines/engines.yml
      fi
      ;;
  esac
  case $1 in default | exporter | hub) make_runs ;; esac # on a measured machine runs are made too
  case $1 in default | hub) make_targets "$1" ;; esac
  if [ "$1" = exporter ] && [ -z "$(setting UMASCOPE_EXPORTER_ADDRESS)" ]; then
    fail "say in .env at which address of this machine the hub reaches it: UMASCOPE_EXPORTER_ADDRESS=ADDRESS (here are: $(hostname -I 2>/dev/null || echo 'see ip address'))"
  fi
}

# share makes a file readable for the users that containers run as.
share() {
  chmod 644 "$@"
  give_to_caller "$@"
}

# make_secrets: the folder keeps other users of this machine out, and the files in it are readable since each is
# mounted alone into the one container that needs it, which runs as another user. A file is written, never replaced: a
# container that runs would keep the old one.
make_secrets() {
  chmod 700 secrets
  if [ ! -s secrets/grafana-password ]; then
    head -c 18 /dev/urandom | base64 >secrets/grafana-password
    share secrets/grafana-password
    echo "Wrote a random password to secrets/grafana-password."
  fi
  keep_address alert-receiver UMA_ALERT_URL
  keep_address alert-heartbeat UMA_HEARTBEAT_URL
  local closed
  closed=$(find secrets -type f ! -name '.*' ! -perm -004 -print -quit)
  [ -z "$closed" ] || fail "containers cannot read $closed: chmod o+r $PWD/$closed (the folder keeps other users out)"
  [ -s secrets/alert-receiver ] || echo "No alert is told to anybody yet: set UMA_ALERT_URL in .env and run this again."
}

# keep_address SECRET SETTING: writes the address into a secret that is missing, or empty while there is one.
keep_address() {
  local file=secrets/$1 url
  url=$(setting "$2")
  if [ ! -e "$file" ] || { [ ! -s "$file" ] && [ -n "$url" ]; }; then
    printf '%s' "$url" >"$file"
    share "$file"
  elif [ -n "$url" ] && [ "$url" != "$(cat "$file")" ]; then
    echo "$file is not $2 of .env; it stays. To take over the new one, empty it (: >$file) and run this again." >&2
  fi
}

# make_runs: the folder of runs must be the user's that uma-load runs as, or no run can be kept.
make_runs() {
  local runs uid
  runs=$(setting UMASCOPE_RUNS) uid=$(setting UMASCOPE_UID)
  [ -d "$runs" ] || { mkdir -p "$runs" && chmod 755 "$runs"; } || fail "the folder of runs, $runs, cannot be made"
  [ "$(stat -c %u "$runs")" = "$uid" ] || chown "$uid:$(setting UMASCOPE_GID)" "$runs" 2>/dev/null ||
    fail "$runs belongs to user $(stat -c %u "$runs"), and runs are written as UMASCOPE_UID=$uid in .env: make both the same"
}

written='# Written by compose/up from .env; without this line it is left alone.'

# make_targets names this machine to Prometheus. The files follow .env, unless somebody took them over. A hub has no
# exporter, and one that is looked for would be an alert.
make_targets() {
  local host network address name
  host=$(setting UMASCOPE_HOST)
  network=$(setting UMASCOPE_NETWORK)
  [ "$host" != this-machine ] || fail "UMASCOPE_HOST in .env is not set: the name of this machine, such as $(uname -n)"
  [[ $host =~ ^[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?$ ]] || fail "UMASCOPE_HOST=$host in .env: a name is letters, digits, dots, - and _"
  local byte='(25[0-5]|2[0-4][0-9]|1[0-9][0-9]|[1-9]?[0-9])'
  [[ $network =~ ^$byte\.$byte\.$byte$ ]] || fail "UMASCOPE_NETWORK=$network in .env: three numbers, such as 172.30.104"
  address=$(setting UMASCOPE_EXPORTER_ADDRESS)
  for name in "exporter ${address:-$network.1}:10420" "load ${address:-$network.1}:10421"; do
    local file=prometheus/targets/${name% *}.yml
    if [ -e "$file" ] && [ "$(head -n 1 "$file")" != "$written" ]; then continue; fi
    if [ "$1 $file" = "hub prometheus/targets/exporter.yml" ]; then rm -f "$file"; continue; fi
    printf '%s\n- targets: ["%s"]\n  labels: {host: %s}\n' "$written" "${name#* }" "$host" >"$file.new"
    share "$file.new"
    mv "$file.new" "$file"
  done
}

# need_readable: a checkout made with umask 077 has files that containers of other users cannot read. What TLS.md puts into
# prometheus/tls may be Prometheus' alone.
need_readable() {
  local closed
  closed=$(find prometheus grafana engines ../alerts ../dashboards -path prometheus/tls -prune -o \( -type d ! -perm -005 -o -type f ! -perm -004 \) -print -quit)
  [ -z "$closed" ] || fail "containers cannot read $closed: chmod -R o+rX $(cd .. && pwd)/{alerts,dashboards,compose/{prometheus,grafana,engines}}"
}

# published are the variables of the ports that a profile publishes.
published() { [ "$1" = exporter ] || echo UMASCOPE_GRAFANA_PORT UMASCOPE_PROMETHEUS_PORT UMASCOPE_ALERTMANAGER_PORT UMASCOPE_RESULTS_PORT; }

# need_room looks whether somebody else has a port, or the network, of the stack.
need_room() {
  local running own other variable port service
  running=$(docker compose ps --services)
  own=$(docker compose --profile "$1" config --services)
  other=$(grep -vxF "$own" <<<"$running" | head -n 1) || true
  [ -z "$other" ] || fail "$other runs, which is not of profile $1; end it first: docker compose --profile '*' down" 1
  for variable in $(published "$1"); do
    port=$(setting "$variable") service=${variable#UMASCOPE_} service=${service%_PORT}
    if grep -qxE "(sim-)?${service,,}" <<<"$running"; then continue; fi # what is taken is taken by itself
    if (exec 3<>"/dev/tcp/127.0.0.1/$port") 2>/dev/null; then fail "port $port is taken: set $variable in .env to another one"; fi
  done
  [ -n "$running" ] || case $1 in default | hub) need_network ;; esac
}

# need_network: Docker says only that some network overlaps with some other.
need_network() {
  # shellcheck disable=SC2016 # the dollars are of the template
  local format='{{$n := .Name}}{{range .IPAM.Config}}{{$n}} {{.Subnet}}{{"\n"}}{{end}}'
  local wanted name subnet
  wanted=$(setting UMASCOPE_NETWORK)
  while read -r name subnet; do
    if [ "$name" != "${COMPOSE_PROJECT_NAME:-umascope}_monitoring" ] && overlaps "$subnet" "$wanted.0/24"; then
      fail "network $wanted.0/24 is taken by Docker's network $name ($subnet): set UMASCOPE_NETWORK in .env to another one"
    fi
  done < <(docker network ls --quiet | xargs --no-run-if-empty docker network inspect --format "$format")
}

# overlaps compares two IPv4 networks; of others it says no.
overlaps() {
  [[ $1 =~ ^([0-9]+)\.([0-9]+)\.([0-9]+)\.([0-9]+)/([0-9]+)$ ]] || return 1
  local a=$((BASH_REMATCH[1] << 24 | BASH_REMATCH[2] << 16 | BASH_REMATCH[3] << 8 | BASH_REMATCH[4])) bits=${BASH_REMATCH[5]}
  [[ $2 =~ ^([0-9]+)\.([0-9]+)\.([0-9]+)\.([0-9]+)/([0-9]+)$ ]] || return 1
  local b=$((BASH_REMATCH[1] << 24 | BASH_REMATCH[2] << 16 | BASH_REMATCH[3] << 8 | BASH_REMATCH[4]))
  if ((BASH_REMATCH[5] < bits)); then bits=${BASH_REMATCH[5]}; fi
  (((a ^ b) >> (32 - bits) == 0))
}

# tell_trouble prints, of every service that is not healthy, the last line that it said.
tell_trouble() {
  local service state
  while read -r service state; do
    case $state in *running*healthy*) [[ $state == *unhealthy* ]] || continue ;; esac
    echo "up: $service is $state: $(docker compose --profile "$1" logs --no-log-prefix --tail 1 "$service" 2>&1)" >&2
  done < <(docker compose --profile "$1" ps --all --format '{{.Service}} {{.State}} {{.Health}}')
}

# reload lets Alertmanager read its configuration again, which an update may have changed while compose.yaml stayed as it
# was. Prometheus and Grafana look by themselves.
reload() {
  local service=alertmanager
  case $1 in exporter) return ;; sim) service=sim-alertmanager ;; esac
  docker compose --profile "$1" kill --signal HUP "$service" >/dev/null 2>&1 ||
    echo "Alertmanager was not told to read its configuration again: docker compose restart $service" >&2
}

# tell_where says what to open.
tell_where() {
  if [ "$1" = exporter ]; then
    echo "Exporter    http://$(setting UMASCOPE_EXPORTER_ADDRESS):10420/metrics, for the hub"
  else
    echo "Grafana     http://127.0.0.1:$(setting UMASCOPE_GRAFANA_PORT)"
    [ "$1" = sim ] || echo "            user admin, the password is in $PWD/secrets/grafana-password"
    echo "Prometheus  http://127.0.0.1:$(setting UMASCOPE_PROMETHEUS_PORT)"
    echo "Alerts      http://127.0.0.1:$(setting UMASCOPE_ALERTMANAGER_PORT)"
    echo "Runs        http://127.0.0.1:$(setting UMASCOPE_RESULTS_PORT)"
  fi
  [ "$1" != hub ] || echo "Name the machines that it watches in prometheus/targets/exporter-NAME.yml: README.md, A hub"
  [ "$1" != sim ] || echo "All of it is simulated; the first figures are there in half a minute, the first run after some minutes."
  echo "End it, in $PWD, with: docker compose --profile $1 down"
}
