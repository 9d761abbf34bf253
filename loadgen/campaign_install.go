package loadgen

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/alecthomas/kingpin/v2"

	"github.com/umascope/umascope/loadgen/rundir"
	"github.com/umascope/umascope/loadgen/subprocess"
)

const campaignInstallHelp = `Write a systemd unit that resumes a campaign after a reboot.

  uma-load campaign install plan.yaml --print
  uma-load campaign install plan.yaml
  sudo uma-load campaign install plan.yaml --system

It goes on after a crash too. The unit is of this user unless --system says otherwise. Nothing is enabled or started without --enable: the commands that do are printed. A campaign that is complete ends at once when it is started again.`

// unitMark is the first line of the units that uma-load writes. A file without it belongs to another program.
const unitMark = "# Written by uma-load campaign install."

// installLine holds the flags of campaign install.
type installLine struct {
	planLine
	system, print, enable bool
}

func campaignInstallVerb(campaignClause *kingpin.CmdClause) verb {
	l := &installLine{}
	clause := campaignClause.Command("install", campaignInstallHelp)
	planFlags(clause, &l.planLine)
	clause.Flag("system", "Write a unit of the system, which runs as root, to /etc/systemd/system.").BoolVar(&l.system)
	clause.Flag("print", "Print the unit and write nothing.").BoolVar(&l.print)
	clause.Flag("enable", "Enable and start it too.").BoolVar(&l.enable)
	return verb{clause, func(ctx context.Context, p Program) error { return l.run(ctx, p.Stdout) }}
}

// run carries out campaign install.
func (l *installLine) run(ctx context.Context, stdout io.Writer) error {
	if err := l.read(); err != nil {
		return usage(err)
	}
	dir, err := l.dir()
	if err != nil {
		return usage(err)
	}
	unit, err := l.unit()
	if err != nil {
		return usage(err)
	}
	if l.print {
		_, err := stdout.Write(unit)
		return err
	}
	path, err := l.path()
	if err == nil {
		err = writeUnit(path, unit)
	}
	if err != nil {
		return usage(err)
	}
	fmt.Fprintf(stdout, "unit: %s\n", path)
	if l.enable {
		return l.enableUnit(ctx)
	}
	for _, argv := range l.commands() {
		fmt.Fprintln(stdout, "then: "+strings.Join(argv, " "))
	}
	_, err = fmt.Fprintf(stdout, "status: uma-load campaign status %s\n", dir)
	return err
}

// name returns the name of the unit.
func (l *installLine) name() string { return "umascope-campaign-" + l.planned.Name + ".service" }

// path returns the path of the unit file.
func (l *installLine) path() (string, error) {
	if l.system {
		return filepath.Join("/etc/systemd/system", l.name()), nil
	}
	config, err := os.UserConfigDir()
	return filepath.Join(config, "systemd", "user", l.name()), err
}

// commands returns the commands that enable and start the unit. A user's unit starts at boot only if lingering is
// enabled for the user.
func (l *installLine) commands() [][]string {
	if l.system {
		return [][]string{{"systemctl", "daemon-reload"}, {"systemctl", "enable", "--now", l.name()}}
	}
	return [][]string{{"loginctl", "enable-linger"}, {"systemctl", "--user", "daemon-reload"}, {"systemctl", "--user", "enable", "--now", l.name()}}
}

func (l *installLine) enableUnit(ctx context.Context) error {
	for _, argv := range l.commands() {
		if err := subprocess.Find(argv[0]); err != nil {
			return usage(err)
		}
		if done := runCommand(ctx, argv, takenOver); done.Problem != "" {
			return fmt.Errorf("%s: %s", strings.Join(argv, " "), done.Problem)
		}
	}
	return nil
}

// unit returns the text of the unit.
func (l *installLine) unit() ([]byte, error) {
	program, err := os.Executable()
	if err != nil {
		return nil, err
	}
	here, err := os.Getwd()
	if err != nil {
		return nil, err
	}
	absolute := l.planLine
	if absolute.planFile, err = filepath.Abs(l.planFile); err != nil {
		return nil, err
	}
	if absolute.out, err = filepath.Abs(l.out); err != nil {
		return nil, err
	}
	words := []string{unitWord(program)}
	for _, arg := range absolute.arguments() {
		words = append(words, strings.ReplaceAll(unitWord(arg), "$", "$$"))
	}
	wanted := "default.target"
	if l.system {
		wanted = "multi-user.target"
	}
	var b bytes.Buffer
	fmt.Fprintf(&b, `%s
[Unit]
Description=umascope campaign %s
After=network-online.target docker.service
Wants=network-online.target

[Service]
Type=exec
ExecStart=%s
WorkingDirectory=%s
Environment=%s
# %s=... may stand there; a unit can be read by everybody.
EnvironmentFile=-%%h/.config/umascope/environment
# A stop ends the run with a complete folder, and brings its arm down.
KillSignal=SIGINT
# Signals go to uma-load alone. If it is killed, its guardian stops the arm; mixed would kill the guardian and the engines with
# it, and no stop command would run. The next start waits for the guardian.
KillMode=process
TimeoutStopSec=15min
# The processes of an arm get a cgroup of their own below this unit, next to the one of uma-load.
Delegate=yes
DelegateSubgroup=uma-load
# An engine that the kernel ends for want of memory is a failed run, not the end of the campaign.
OOMPolicy=continue
# After a crash or a kill it goes on where it ended; not after it has stopped itself.
Restart=on-abnormal
RestartSec=30s

[Install]
WantedBy=%s
`, unitMark, l.planned.Name, strings.Join(words, " "), unitEscape(here), unitWord("PATH="+os.Getenv("PATH")), subprocess.NotifyVariable, wanted)
	return b.Bytes(), nil
}

// unitWord quotes a word for systemd, which expands specifiers everywhere, and variables in command lines.
func unitWord(word string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "%", "%%", "\n", `\n`).Replace(word) + `"`
}

// unitEscape escapes a path for settings where systemd takes no quotes.
func unitEscape(path string) string { return strings.ReplaceAll(path, "%", "%%") }

// writeUnit writes the unit. It fails if the path holds a file that uma-load did not write.
func writeUnit(path string, unit []byte) error {
	there, err := os.ReadFile(path)
	switch {
	case err == nil && !bytes.HasPrefix(there, []byte(unitMark)):
		return fmt.Errorf("%s is there already and not ours", path)
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return rundir.WriteFile(path, 0o644, func(w io.Writer) error {
		_, err := w.Write(unit)
		return err
	})
}
