package docs

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// proof is where a command of a page is run that needs an engine of Docker, a cluster or a machine of its own: a script, or what
// it builds, and words of it. A command that nothing runs has a reason instead.
type proof struct{ command, file, words, why string }

// proofs are those of the pages about the stack, by how a command begins.
func proofs() map[string][]proof {
	const person = "a person's own machine, network or account: nothing here may change that"
	return map[string][]proof{
		"../../../compose/README.md": {
			{command: "git clone", file: ".ci/proofs/stack/prove", words: "git ls-files"},
			{command: "./up sim", file: ".ci/proofs/stack/prove", words: "./compose/up sim"},
			{command: "docker compose run --rm load", file: ".ci/proofs/stack/prove", words: "run --rm load"},
			{command: "COMPOSE_FILE=", file: ".ci/proofs/stack/prove", words: "privileged.yaml"},
			{command: "docker compose exec exporter", file: "compose/privilege_test.go", words: "no doctor in README.md"},
			{command: "docker ps", why: "containers of the reader's own"},
			{command: "git pull", why: person},
			{command: "docker compose run --rm -T --no-deps --entrypoint tar", why: "no backup of somebody's data is made by a test"},
			{command: "docker compose stop", why: "no backup of somebody's data is made by a test"},
			{command: "docker compose start", why: "the end of that backup"},
			{command: "docker compose --profile '*' down", file: ".ci/proofs/stack/prove", words: "down --volumes"},
		},
		"../../uma-view/README.md": {
			{command: "uma-view", file: ".ci/proofs/view/prove", words: "$bin/uma-view"},
			{command: "promtool query", file: ".ci/proofs/view/prove", words: "promtool\" query"},
			{command: "sudo systemctl enable", file: ".ci/proofs/native/guest", words: "systemctl enable --now uma-view"},
		},
		"../../../compose/TLS.md": {{command: "uma-exporter secure", file: "exporter/tls_test.go", words: "--name"}},
		"../../../compose/native/README.md": {
			{command: "sudo apt install", file: ".ci/proofs/native/guest", words: "apt-get -qy install umascope"},
			{command: "sudo curl -fsSLo", why: "a download from the network"},
			{command: "echo \"deb [signed-by=", file: ".ci/proofs/native/guest", words: "deb [signed-by=/proof/repository/umascope.asc]"},
			{command: "sudo tee", file: ".ci/proofs/native/guest", words: ">/etc/apt/sources.list"},
			{command: "sudo apt update", file: ".ci/proofs/native/guest", words: "apt-get -q update"},
			{command: "uma-load run", file: "cmd/internal/demo/two_machines_test.go", words: "--telemetry"},
			{command: "curl -s", file: ".ci/proofs/native/guest", words: "10420"},
			{command: "curl -fsSLO", why: "a download from the network"},
			{command: "sh install.sh", file: "compose/native/install_sh_test.go", words: "install.sh"},
			{command: "sha256sum", file: "compose/native/install_test.go", words: "install"},
			{command: "tar -xzf", file: ".ci/proofs/native/check", words: "tar"},
			{command: "sudo ./umascope", file: ".ci/proofs/native/guest", words: "/opt/archive/install"},
			{command: "./umascope", file: ".ci/proofs/native/guest", words: "--user"},
			{command: "loginctl", why: person},
			{command: "systemctl --user", file: ".ci/proofs/native/guest", words: "systemctl"},
			{command: "sudo uma-exporter secure", file: "exporter/tls_test.go", words: "--name"},
			{command: "sudo chgrp", why: "rights of folders that the line before has made on the reader's machine"},
			{command: "ARGS=", file: ".ci/proofs/native/guest", words: "ARGS="},
		},
		"../../../compose/mpi/README.md": {
			{command: "uma-load hosts", file: ".ci/proofs/hosts/prove", words: "--format mpi"},
			{command: "./load hosts.mpi", file: ".ci/proofs/cluster/prove", words: "compose/mpi/load"},
		},
		"../../../compose/slurm/README.md": {{command: "sbatch", file: ".ci/proofs/cluster/prove", words: "compose/slurm/load.sbatch"}},
		"../../../compose/kubernetes/README.md": {
			{command: "cd ", file: ".ci/proofs/kubernetes/objects_test.go", words: "compose/kubernetes"},
			{command: "./rules", file: "compose/kubernetes_test.go", words: "rules"},
			{command: "./start", file: "compose/kubernetes_test.go", words: "start"},
			{command: "sed 's/RUN", file: "compose/kubernetes_test.go", words: "uma-load-merge"},
			{command: "kubectl", why: "no Kubernetes cluster has run these, as the page says"},
			{command: "for page in", why: "no Kubernetes cluster has run these, as the page says"},
			{command: "name=", why: "part of that loop"},
			{command: "done", why: "part of that loop"},
		},
		"../../../compose/fleet/README.md": {
			{command: "sudo ufw", why: person},
			{command: "uma-load run", file: "cmd/internal/demo/two_machines_test.go", words: "--telemetry"},
			{command: "cd compose", file: "compose/fleet_test.go", words: "fleet"},
			{command: "./up --prepare hub", file: "compose/fleet_test.go", words: "hub"},
			{command: "./up hub", file: "compose/fleet_test.go", words: "hub"},
			{command: "sed -i", why: "a line of the reader's own .env"},
		},
		"../../../alerts/README.md": {
			{command: "go test ./alerts", file: ".ci/run", words: "go test ./..."},
			{command: "promtool check rules", file: ".ci/promtool", words: "check rules --lint=all"},
			{command: "promtool test rules", file: ".ci/promtool", words: "test rules alerts/testdata/*.test.yaml"},
			{command: "amtool check-config", file: ".ci/proofs/rules/prove", words: "check-config alerts/alertmanager.yml"},
			{command: "go run ./cmd/uma-gen --out", file: "cmd/uma-gen/export_test.go", words: "--host-label"},
		},
	}
}

// TestTheCommandsOfTheStackAreRunByItsProofs: each command of those pages has the script, or test, that runs its like on a real
// engine, launcher or machine, and that has what it is about; or a reason why nothing does. It is told which those are.
func TestTheCommandsOfTheStackAreRunByItsProofs(t *testing.T) {
	for path, known := range proofs() {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		p, _ := parsePage(strings.TrimPrefix(path, root+"/"), string(text))
		used := map[string]bool{}
		for _, b := range p.blocks {
			if !b.command() {
				continue
			}
			for _, command := range b.commands() {
				found := false
				for _, one := range known {
					if strings.HasPrefix(command, one.command) {
						found, used[one.command] = true, true
						if one.why != "" {
							t.Logf("%s:%d: nothing runs %s: %s", p.path, b.line, command, one.why)
						}
						break
					}
				}
				if !found {
					t.Errorf("%s:%d: nothing is said to run %s", p.path, b.line, command)
				}
			}
		}
		for _, one := range known {
			if !used[one.command] {
				t.Errorf("%s has no command any more that begins with %s", p.path, one.command)
			}
			if one.why != "" {
				continue
			}
			text, err := os.ReadFile(filepath.Join(root, one.file))
			if err != nil || !strings.Contains(string(text), one.words) {
				t.Errorf("%s: %s does not have %s (%v)", p.path, one.file, one.words, err)
			}
		}
	}
}
