package dashboards

import (
	"time"

	"github.com/umascope/umascope/exporter/metric"
	"github.com/umascope/umascope/exporter/metric/expr"
)

// lettersMislead is shown with every panel of blocks that move between tiers.
func lettersMislead() string {
	return " KVBM's own letters mislead: its `h2d` is host to disk when offloading and host to device when onboarding. Tiers are spelt out here, from " + called(metric.KVBMBlocksTotal) + "; a block that goes by the host to or from the disk is counted on both legs."
}

// flow is a path of KV blocks, as it is drawn.
type flow struct{ op, from, to, color string }

// flows are the paths of blocks, those of one operation in the order in which they are stacked. The colour is that of
// the slower tier; the path past the host is lighter.
func flows() []flow {
	tiers := tierColors()
	return []flow{
		{metric.OpOffload, metric.TierDevice, metric.TierHost, tiers[metric.TierHost]},
		{metric.OpOffload, metric.TierHost, metric.TierDisk, tiers[metric.TierDisk]},
		{metric.OpOffload, metric.TierDevice, metric.TierDisk, "light-orange"},
		{metric.OpOffload, metric.TierDevice, metric.TierObject, tiers[metric.TierObject]},
		{metric.OpOnboard, metric.TierHost, metric.TierDevice, tiers[metric.TierHost]},
		{metric.OpOnboard, metric.TierDisk, metric.TierHost, tiers[metric.TierDisk]},
		{metric.OpOnboard, metric.TierDisk, metric.TierDevice, "light-orange"},
		{metric.OpOnboard, metric.TierObject, metric.TierDevice, tiers[metric.TierObject]},
	}
}

// flowing is a panel of the blocks of one operation, stacked by path.
func flowing(op string, s subject) panel {
	var drawn []figure
	for _, f := range flows() {
		if f.op == op {
			blocks := eachPerSecond(metric.KVBMBlocksTotal, expr.Is(metric.LabelOp, op), expr.Is(metric.LabelFrom, f.from), expr.Is(metric.LabelTo, f.to))
			drawn = append(drawn, figure{title: f.from + " to " + f.to, expr: blocks.Sum(byHost()), look: colored(f.color)})
		}
	}
	s.queries = queriesOf(drawn)
	return painted(areas(s), drawn)
}

func offloads() panel {
	return flowing(metric.OpOffload, subject{
		title:  "Blocks offloaded",
		means:  "KV blocks copied to a slower tier, by from and to." + lettersMislead(),
		wrong:  "nothing goes to *disk* while the run is said to have an SSD tier, or blocks are written and never read back.",
		noData: noKVBM,
	})
}

func onboards() panel {
	return flowing(metric.OpOnboard, subject{
		title:  "Blocks onboarded",
		means:  "KV blocks brought back from a slower tier. Only what comes from *disk* proves that the SSD was read: disk to device in version 1 of KVBM, disk to host in version 2 (" + called(metric.KVBMInfo) + ")." + lettersMislead(),
		wrong:  "there are hits of the disk tier but nothing comes from *disk*.",
		noData: noKVBM,
	})
}

// kvbmFromDisk are the bytes per second that the KV block manager reports to have read from disk. A page counts them on
// one path or another, by its version.
func kvbmFromDisk() expr.Expr {
	return eachPerSecond(metric.KVBMBytesTotal, fromDisk()...).Sum(by(metric.LabelTo)).Max(byHost())
}

func fromDisk() []expr.Matcher {
	return []expr.Matcher{expr.Is(metric.LabelOp, metric.OpOnboard), expr.Is(metric.LabelFrom, metric.TierDisk)}
}

func ofReads() expr.Matcher { return expr.Is(metric.LabelOp, metric.OpRead) }

// withTier keeps the cgroups in which the file of a disk tier is open.
func withTier(e expr.Expr) expr.Expr {
	return e.And(each(metric.KVBMDiskFileBytes), expr.On(metric.LabelHost, metric.LabelCgroup))
}

func readsOfTier() panel {
	cgroups := eachPerSecond(metric.CgroupIOBytesTotal, ofReads())
	return series(subject{
		title:  "Bytes read, by who counts them",
		means:  "The same reads counted by five independent sources: the KV block manager (blocks times their size), the processes and the cgroup in which the file of the disk tier is open (" + called(metric.ProcessIOBytesTotal) + ", " + called(metric.CgroupIOBytesTotal) + "; of several cgroups, the one that reads most), nvidia-fs, and the drives.",
		wrong:  "the block manager counts reads and the others do not: they were answered from memory or never made. The drives may count more: they serve all of the machine. Whether reads through nvidia-fs are in the figures of process and cgroup is not documented.",
		noData: "none of them is there: no drive, no KV block manager, no file of a disk tier",
		queries: []query{
			{"block manager", kvbmFromDisk()},
			{"its processes", withTier(eachPerSecond(metric.ProcessIOBytesTotal, ofReads())).Sum(byHost())},
			{"their cgroup", withTier(cgroups).Max(byHost())},
			{"nvidia-fs", eachPerSecond(metric.CuFileNVFSBytesTotal, ofReads()).Max(byHost())},
			{"drives", eachPerSecond(metric.NVMeReadBytesTotal).Sum(byHost())},
		},
	}).
		Min(0).
		OverrideByName("block manager", looks(colored("dark-orange"), look{{Id: "custom.lineWidth", Value: 3}})).
		OverrideByName("its processes", colored("dark-blue")).
		OverrideByName("their cgroup", colored("light-blue")).
		OverrideByName("nvidia-fs", colored("dark-purple")).
		OverrideByName("drives", looks(dashed(), colored("text")))
}

// agreementWindow levels the delay between the counters: a block is counted when it has arrived, its bytes when they
// are requested.
const agreementWindow = 5 * time.Minute

// grown is the increase of a counter of the host within agreementWindow.
func grown(c metric.Counter, matchers ...expr.Matcher) expr.Expr {
	on := append([]expr.Matcher{onHost()}, matchers...)
	return expr.Increase(c, expr.Over(agreementWindow), on...).Max(byOwnLabels(c))
}

// readForClaimed is the bytes that other sources counted for each byte that the KV block manager reports to have read
// from disk.
func readForClaimed() []query {
	claimed := grown(metric.KVBMBytesTotal, fromDisk()...).Sum(by(metric.LabelTo)).Max(byHost())
	return []query{
		{"its processes", shareOf(withTier(grown(metric.ProcessIOBytesTotal, ofReads())).Sum(byHost()), claimed)},
		{"their cgroup", shareOf(withTier(grown(metric.CgroupIOBytesTotal, ofReads())).Max(byHost()), claimed)},
		{"drives", shareOf(grown(metric.NVMeReadBytesTotal).Sum(byHost()), claimed)},
	}
}

func readsAgree() panel {
	return series(subject{
		title:   "Bytes read for each byte claimed",
		means:   "What others counted within 5 minutes, over what the KV block manager says it read from the SSD. Near 100 % (dashed) of the processes and their cgroup proves the claim; near 0 refutes it: those bytes were in memory. The drives serve others too and prove nothing by being above. Where reading begins or ends the window cuts it and the share strays for a moment. The scale ends at 200 %: a model that is being loaded is read as well.",
		wrong:   "processes and cgroup are far below 100 % while O_DIRECT is on (table *Tiers*), or all are far above it: more is read than is used.",
		noData:  "nothing was onboarded from disk within 5 minutes, or the size of a block is unknown",
		queries: readForClaimed(),
	}).
		Min(0).
		Max(2).
		Thresholds(steps("transparent", from(1, "text"))).
		ThresholdsStyle(dashedLine()).
		OverrideByName("its processes", colored("dark-blue")).
		OverrideByName("their cgroup", colored("light-blue")).
		OverrideByName("drives", looks(dashed(), colored("text")))
}
