package exporter

import (
	"io"
	"log/slog"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/alecthomas/kingpin/v2"
	"github.com/prometheus/common/promslog"
	logflag "github.com/prometheus/common/promslog/flag"
	"github.com/prometheus/exporter-toolkit/web"
	"github.com/prometheus/exporter-toolkit/web/kingpinflag"

	"github.com/umascope/umascope/cmd/terminal"
	"github.com/umascope/umascope/cmd/webserver"
	"github.com/umascope/umascope/exporter/collector"
	"github.com/umascope/umascope/exporter/engine/spec"
	"github.com/umascope/umascope/exporter/engine/supported"
	"github.com/umascope/umascope/exporter/link"
	"github.com/umascope/umascope/exporter/nvml"
)

// commandLine is a parsed command line. Every command has only the flags that it uses, so that no flag is accepted and
// ignored.
type commandLine struct {
	app     *kingpin.Application
	args    []string
	command string
	ended   bool // help or version was printed: the program ends
	known   spec.Engines

	log                             promslog.Config
	mounts                          mounts
	replay, nvmlReplay, nvmlRecord  string
	explicitPaths                   [3]bool // --path.procfs, --path.sysfs, --path.cgroupfs
	options                         collector.Options
	discovery                       bool
	blockSizes                      []blockSize
	pageAccess                      []pageAccess
	collectTimeout                  time.Duration
	collectors                      []collectorFlag
	disableDefaults, once           bool
	watch, asJSON, explicitURL      bool
	web                             *web.FlagConfig
	explicitAddress, hideOwnMetrics bool
	maxRequests                     int
	telemetryPath                   string
	threads                         int
	recordPath, description         string
	shell, healthURL, exporterURL   string
	httpConfig                      string // of healthcheck, explain, fit and doctor
	linkTo, linkListen              string
	memoryBandwidth                 bool
	fits                            fitFlags
	secureFolder                    string
	recorder, lastBoot              bool
	recorderFolder                  string
	secureNames, allowHosts         []string
}

// collectorFlag is --[no-]collector.NAME.
type collectorFlag struct {
	name     string
	enabled  bool
	explicit bool
}

// parse reads the arguments. Help and version texts go to stdout.
func parse(args []string, stdout, stderr io.Writer) (*commandLine, error) {
	l := &commandLine{app: kingpin.New("uma-exporter", about), args: args, known: supported.Engines()}
	// The application must not end the process: Run returns its exit code.
	l.app.Terminate(func(int) { l.ended = true }).UsageWriter(stdout).ErrorWriter(stderr)
	l.app.Version("uma-exporter " + readBuild().String())
	guide().Apply(l.app)
	l.log.Writer = stderr
	logflag.AddFlags(l.app, &l.log)
	l.defineServe(l.app.Command("serve", serveHelp).Default())
	l.defineExplain(l.app.Command("explain", explainHelp))
	l.defineFit(l.app.Command("fit", fitHelp(l.known)))
	l.defineDoctor(l.app.Command("doctor", doctorHelp))
	l.defineRecord(l.app.Command("record", recordHelp))
	l.defineHealthcheck(l.app.Command("healthcheck", healthcheckHelp))
	l.defineSecure(l.app.Command("secure", secureHelp))
	l.defineCompletion(l.app.Command("completion", completionHelp))
	var err error
	if l.command, err = l.app.Parse(args); err == nil {
		err = l.checkSources()
	}
	return l, terminal.Mend(l.app, args, err)
}

func (l *commandLine) logger() *slog.Logger { return promslog.New(&l.log) }

// defineHost adds the flags of every command that reads a host.
func (l *commandLine) defineHost(c *kingpin.CmdClause) {
	l.definePaths(c)
	c.Flag("replay", "Read a whole machine from this recording of record.").PlaceHolder("FILE").StringVar(&l.replay)
	c.Flag("nvml.replay", "Read GPUs from this recording instead of the driver, with the recorded host's --path.procfs.").PlaceHolder("FILE").StringVar(&l.nvmlReplay)
	// Unknown is no architecture to choose.
	architectures := []nvml.Architecture{nvml.Discrete, nvml.CoherentNUMA, nvml.CoherentDriver, nvml.Integrated, nvml.IntegratedCarved, nvml.Shimmed}
	names := terminal.Join(architectures)
	terminal.Flag(c, "gpu.memory-architecture", "Where GPU memory is, not found out: "+names+".", "", &l.options.Architecture, terminal.OneOf(architectures...)).
		PlaceHolder("ARCH").HintOptions(strings.Split(names, ", ")...)
	terminal.Flag(c, "gpu.processes", "Most GPU processes with series of their own.", "20", &l.options.ProcessLimit, terminal.AtLeast(0))
	l.defineCollectors(c)
	terminal.Flag(c, "collect.timeout", "Longest time of a collector and of a page.", collector.DefaultTimeout.String(), &l.collectTimeout, terminal.PositiveDuration)
}

func (l *commandLine) definePaths(c *kingpin.CmdClause) {
	usual := usualMounts()
	c.Flag("path.procfs", "Where procfs of the host is mounted.").Default(usual.proc).IsSetByUser(&l.explicitPaths[0]).StringVar(&l.mounts.proc)
	c.Flag("path.sysfs", "Where sysfs of the host is mounted.").Default(usual.sys).IsSetByUser(&l.explicitPaths[1]).StringVar(&l.mounts.sys)
	c.Flag("path.cgroupfs", "Where cgroup v2 of the host is mounted.").Default(usual.cgroup).IsSetByUser(&l.explicitPaths[2]).StringVar(&l.mounts.cgroup)
}

func (l *commandLine) defineServe(c *kingpin.CmdClause) {
	l.defineHost(c)
	specs := collector.All()
	l.collectors = make([]collectorFlag, len(specs))
	for i, spec := range specs {
		l.collectors[i].name = spec.Name
		about, _, _ := strings.Cut(strings.ReplaceAll(spec.Help, ";", ":"), ":") // doctor has the whole
		c.Flag("collector."+spec.Name, strings.TrimSuffix(about, ".")+".").Default("true").IsSetByUser(&l.collectors[i].explicit).BoolVar(&l.collectors[i].enabled)
	}
	c.Flag("collector.disable-defaults", "Run only the collectors that are named.").BoolVar(&l.disableDefaults)
	c.Flag("nvml.record", "Write every driver call with value and return code to this file.").PlaceHolder("FILE").StringVar(&l.nvmlRecord)
	terminal.Flag(c, "runtime.gomaxprocs", "Most CPUs that the exporter uses at a time.", strconv.Itoa(defaultThreads), &l.threads, terminal.AtLeast(1))
	c.Flag("once", "Print one page and exit.").BoolVar(&l.once)
	c.Flag("recorder", "Keep the last minutes on disk, a sample each second, for explain --last-boot.").BoolVar(&l.recorder)
	l.defineRecorderFolder(c)
	l.web = kingpinflag.AddFlags(c, DefaultAddress)
	c.GetFlag("web.listen-address").IsSetByUser(&l.explicitAddress).Help("Address of the metrics, such as :10420 for all addresses; if given and in use, exit code 2.")
	c.GetFlag("web.config.file").Help("TLS and passwords; secure makes the file.").PlaceHolder("FILE")
	c.GetFlag("web.systemd-socket").Help("Listen on systemd's socket instead of a port.")
	webserver.AllowHostFlag(c, &l.allowHosts)
	c.Flag("web.telemetry-path", "Path of the metrics.").Default(DefaultTelemetryPath).StringVar(&l.telemetryPath)
	terminal.Flag(c, "web.max-requests", "Most scrapes at a time; at most 1000 more wait.", "40", &l.maxRequests, terminal.AtLeast(1))
	c.Flag("web.disable-exporter-metrics", "Leave out series of the exporter itself.").BoolVar(&l.hideOwnMetrics)
}

const recorderFolderFlag = "recorder.folder"

func (l *commandLine) defineRecorderFolder(c *kingpin.CmdClause) {
	c.Flag(recorderFolderFlag, "Folder of the recorder's ring, 64 MiB.").Default(defaultRecorderFolder).StringVar(&l.recorderFolder)
}

func (l *commandLine) defineExplain(c *kingpin.CmdClause) {
	c.Flag("watch", "Print again every two seconds until interrupted.").BoolVar(&l.watch)
	c.Flag(lastBootFlag, "Print how the previous boot ended, and its last minute, as --recorder kept it.").BoolVar(&l.lastBoot)
	l.defineRecorderFolder(c)
	l.defineAsked(c)
	l.defineHost(c)
}

// defineAsked adds the flags of a command that prints what a running exporter reads, or this program.
func (l *commandLine) defineAsked(c *kingpin.CmdClause) {
	c.Flag("json", "Print JSON.").BoolVar(&l.asJSON)
	c.Flag("url", "Running exporter to ask; without one, this machine is read.").Default("http://" + DefaultAddress).IsSetByUser(&l.explicitURL).StringVar(&l.exporterURL)
	l.defineHTTPConfig(c)
	c.Flag("direct", "Read this machine without a running exporter, as with every flag below.").Bool()
}

func (l *commandLine) defineDoctor(c *kingpin.CmdClause) {
	c.Flag("link", "Measure the path to this machine, where --link-listen runs.").PlaceHolder("HOST[:PORT]").StringVar(&l.linkTo)
	c.Flag("link-listen", "Accept the streams of --link for 10 minutes, at this address.").PlaceHolder(":" + strconv.Itoa(link.DefaultPort)).StringVar(&l.linkListen)
	c.Flag("memory-bandwidth", "Measure the bandwidth of the GPU's memory, while no process uses the GPU.").BoolVar(&l.memoryBandwidth)
	c.Flag("url", "Running exporter that is asked what it cannot read.").Default("http://" + DefaultAddress).IsSetByUser(&l.explicitURL).StringVar(&l.exporterURL)
	l.defineHTTPConfig(c)
	l.defineHost(c)
}

// givenHostFlags names the flags of explain and fit that say how this program reads a host.
func (l *commandLine) givenHostFlags() ([]string, error) {
	context, err := l.app.ParseContext(l.args)
	if err != nil {
		return nil, err
	}
	var names []string
	for _, element := range context.Elements {
		flag, is := element.Clause.(*kingpin.FlagClause)
		if is && !slices.Contains(append(fitFlagNames(), "watch", "json", "url", httpConfigFlag, "log.level", "log.format"), flag.Model().Name) {
			names = append(names, flag.Model().Name)
		}
	}
	return names, nil
}

func (l *commandLine) defineRecord(c *kingpin.CmdClause) {
	l.definePaths(c)
	c.Flag("description", "What the recording shows, for its header.").StringVar(&l.description)
	c.Arg("file", "File to write.").Required().StringVar(&l.recordPath)
}

func (l *commandLine) defineHealthcheck(c *kingpin.CmdClause) {
	c.Flag("url", "Health page to ask.").Default("http://" + DefaultAddress + healthyPath).StringVar(&l.healthURL)
	l.defineHTTPConfig(c)
}

const httpConfigFlag = "http.config.file"

func (l *commandLine) defineHTTPConfig(c *kingpin.CmdClause) {
	c.Flag(httpConfigFlag, "TLS and credentials to ask with; secure makes the file.").PlaceHolder("FILE").StringVar(&l.httpConfig)
}

func (l *commandLine) defineCompletion(c *kingpin.CmdClause) {
	c.Arg("shell", "bash or zsh.").Required().HintOptions("bash", "zsh").EnumVar(&l.shell, "bash", "zsh")
}

// enabledCollectors names the collectors to run.
func (l *commandLine) enabledCollectors() []string {
	names := []string{}
	for _, flag := range l.collectors {
		if flag.enabled && (flag.explicit || !l.disableDefaults) {
			names = append(names, flag.name)
		}
	}
	return names
}
