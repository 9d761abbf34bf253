package arm

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/umascope/umascope/loadgen/campaign/plan"
)

// A process in a container or on another machine is started, found and ended by a POSIX shell there, the only thing
// that all engine images have in common. Starting needs no other program. Finding and ending need grep, date, sleep
// and rm, which exist wherever a shell does.

// quote quotes any text without a NUL as one shell word.
func quote(text string) string { return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'" }

func quoteAll(words []string) string {
	quoted := make([]string, len(words))
	for i, word := range words {
		quoted[i] = quote(word)
	}
	return strings.Join(quoted, " ")
}

// pidFile is the file in which the shell records its process, in a folder that such places have.
func pidFile(token, name string) string { return "umascope-" + token + "-" + name + ".pid" }

const folders = "/tmp /dev/shm /run"

// startScript records the shell's process ID, its group, its start time and the boot, then replaces the shell by the
// program.
const startScript = `set -u
read -r line </proc/$$/stat
read -r boot </proc/sys/kernel/random/boot_id
file=
for d in ` + folders + `; do
	[ -w "$d" ] && file=$d/$pidfile && break
done
set -- ${line##*) }
[ -n "$file" ] && (umask 077; set -C; echo "$$ $3 ${20} $boot" >"$file") || { echo "umascope: no folder for $pidfile" >&2; exit 125; }
`

// inPlace returns the script lines that set the environment and the working directory.
func inPlace(env map[string]string, cwd string, more ...string) string {
	var b strings.Builder
	for _, key := range slices.Sorted(maps.Keys(env)) {
		fmt.Fprintf(&b, "export %s=%s\n", key, quote(env[key]))
	}
	for _, one := range more {
		fmt.Fprintf(&b, "export %s\n", quote(one))
	}
	if cwd != "" {
		fmt.Fprintf(&b, "cd %s || exit 125\n", quote(cwd))
	}
	return b.String()
}

// scriptOf returns the script that starts a process.
func scriptOf(p plan.Process, token string) string {
	return "pidfile=" + quote(pidFile(token, p.Name)) + "\n" + startScript +
		inPlace(p.Env, p.Cwd, markVariable+"="+mark(token, p.Name)) + "exec " + quoteAll(p.Argv) + " </dev/null\n"
}

// commandScript returns the script that runs a command in the place of a process, with its environment.
func commandScript(p plan.Process, argv []string) string {
	return inPlace(p.Env, p.Cwd) + "exec " + quoteAll(argv) + " </dev/null\n"
}

// leftScript defines left, which prints the IDs of a process's running members: its group, if the group's ID was not
// reused, and the processes with its mark.
const leftScript = `set -u
pid= group= start= boot= now=
for d in ` + folders + `; do
	[ -r "$d/$pidfile" ] && read -r pid group start boot <"$d/$pidfile" && break
done
read -r now </proc/sys/kernel/random/boot_id
known() {
	[ "$boot" = "$now" ] && [ "$group" -gt 1 ] || return 1
	{ read -r line <"/proc/$pid/stat"; } 2>/dev/null || return 0
	set -- ${line##*) }
	[ "${20}" = "$start" ]
}
living() {
	{ read -r line <"/proc/$1/stat"; } 2>/dev/null || return 1
	set -- ${line##*) }
	case $1 in Z | X) return 1 ;; esac
	their=$3
}
left() {
	marked=" $(grep -lsF "$mark" /proc/[0-9]*/environ 2>/dev/null | while IFS=/ read -r none proc p rest; do printf '%s ' "$p"; done)"
	known && ours=$group || ours=none
	for d in /proc/[0-9]*; do
		p=${d#/proc/}
		[ "$p" != $$ ] && living "$p" || continue
		case $their-$marked in
		"$ours"-* | *" $p "*) printf '%s ' "$p" ;;
		esac
	done
}
`

// endScript ends the members that are left: first with the signal, if one is still to be sent, then after some seconds
// with SIGKILL.
const endScript = `pause() { sleep 0.2 2>/dev/null || sleep 1; }
until_gone() {
	end=$(($(date +%s) + $1))
	while [ -n "$(left)" ] && [ "$(date +%s)" -lt $end ]; do pause; done
}
send() { for p in $(left); do kill -s "$1" "$p" 2>/dev/null; done; }
[ -z "$(left)" ] || echo "umascope-found"
[ "$gently" = 0 ] || { [ -z "$signal" ] || send "$signal"; until_gone "$gently"; }
[ -z "$(left)" ] || { echo "umascope-killed"; send KILL; until_gone 10; }
[ -n "$(left)" ] || for d in ` + folders + `; do rm -f "$d/$pidfile"; done
`

// answerLine is the prefix of the line with the scripts' answer. Shells on other machines may print a greeting before
// it.
const answerLine = "umascope-left:"

// ahead returns the script lines that name the process to look for.
func ahead(token, name string) string {
	return "pidfile=" + quote(pidFile(token, name)) + "\nmark=" + quote(markVariable+"="+mark(token, name)) + "\n" + leftScript
}

// leftThere returns the IDs, as the place counts them, of a process's running members.
func (p place) leftThere(ctx context.Context, token, name string) ([]int, error) {
	out, err := ask(ctx, question{args: p.shell(), input: ahead(token, name) + "echo \"" + answerLine + " $(left)\"\n"})
	if err != nil {
		return nil, err
	}
	return parseLeft(out)
}

// ended is the result of ending a process in a place.
type ended struct {
	found  bool  // a member was running
	killed bool  // it had to be killed
	left   []int // members that are still running
}

// endThere ends a process, with a signal if one is given, then by force.
func (p place) endThere(ctx context.Context, token, name, signal string, gently time.Duration) (ended, error) {
	settings := fmt.Sprintf("signal=%s\ngently=%d\n", quote(strings.TrimPrefix(signal, "SIG")), int(math.Ceil(gently.Seconds())))
	ctx, cancel := context.WithTimeout(ctx, gently+placeTimeout)
	defer cancel()
	out, err := askAsLongAs(ctx, question{args: p.shell(), input: ahead(token, name) + settings + endScript + "echo \"" + answerLine + " $(left)\"\n"})
	if err != nil {
		return ended{}, err
	}
	left, err := parseLeft(out)
	return ended{strings.Contains(out, "umascope-found"), strings.Contains(out, "umascope-killed"), left}, err
}

// parseLeft reads the last answer in the output of a shell.
func parseLeft(out string) ([]int, error) {
	at := strings.LastIndex(out, answerLine)
	if at < 0 {
		return nil, errors.New("the shell there gave no answer")
	}
	line, _, _ := strings.Cut(out[at+len(answerLine):], "\n")
	var pids []int
	for _, word := range strings.Fields(line) {
		pid, err := strconv.Atoi(word)
		if err != nil || pid <= 0 {
			return nil, fmt.Errorf("the shell there answered %q", clean(line))
		}
		pids = append(pids, pid)
	}
	return pids, nil
}
