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

// What runs in a container or on another machine is started, found and ended by a POSIX shell there:
// images of engines have nothing else in common. To start needs no other program; to find and end needs grep, date, sleep and
// rm, which are wherever a shell is.

// quote makes one word of a shell of any text without a NUL.
func quote(text string) string { return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'" }

func quoteAll(words []string) string {
	quoted := make([]string, len(words))
	for i, word := range words {
		quoted[i] = quote(word)
	}
	return strings.Join(quoted, " ")
}

// pidFile is where the shell notes what it becomes, in one of the folders that such places have.
func pidFile(token, name string) string { return "umascope-" + token + "-" + name + ".pid" }

const folders = "/tmp /dev/shm /run"

// startScript becomes the program. Before that it notes its number, its group, its start and the boot.
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

// inPlace sets environment and folder.
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

// scriptOf starts a process.
func scriptOf(p plan.Process, token string) string {
	return "pidfile=" + quote(pidFile(token, p.Name)) + "\n" + startScript +
		inPlace(p.Env, p.Cwd, markVariable+"="+mark(token, p.Name)) + "exec " + quoteAll(p.Argv) + " </dev/null\n"
}

// commandScript runs a command in the place of a process, as its environment has it.
func commandScript(p plan.Process, argv []string) string {
	return inPlace(p.Env, p.Cwd) + "exec " + quoteAll(argv) + " </dev/null\n"
}

// leftScript defines left, which prints the numbers of what lives of a process: its group, if its number
// is not another's by now, and what carries its mark.
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

// endScript ends what is left: first by the signal, if one is still to be sent, after some seconds by force.
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

// answerLine is how the line begins by which the scripts answer: shells of other machines greet.
const answerLine = "umascope-left:"

// ahead tells the scripts whom to look for.
func ahead(token, name string) string {
	return "pidfile=" + quote(pidFile(token, name)) + "\nmark=" + quote(markVariable+"="+mark(token, name)) + "\n" + leftScript
}

// leftThere are the numbers, as the place counts them, of what lives of a process.
func (p place) leftThere(ctx context.Context, token, name string) ([]int, error) {
	out, err := ask(ctx, question{args: p.shell(), input: ahead(token, name) + "echo \"" + answerLine + " $(left)\"\n"})
	if err != nil {
		return nil, err
	}
	return parseLeft(out)
}

// ended is what a place says of a process that it was to end.
type ended struct {
	found  bool  // something of it lived
	killed bool  // it had to be killed
	left   []int // what lives even so
}

// endThere ends a process, by a signal if there is one and by force.
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

// parseLeft reads the last answer among what a shell printed.
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
