package hostfs

import (
	"maps"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

// shippedCuFileConfig has the shape of the file that NVIDIA installs: comments, and keys that nobody here asks for.
const shippedCuFileConfig = `{
    // NOTE : Application can override custom configuration via export CUFILE_ENV_PATH_JSON=<filepath>
    // e.g : export CUFILE_ENV_PATH_JSON="/home/<xxx>/cufile.json"
    "logging": { "dir": "/var/log//cufile", /* "level": "TRACE", */ "level": "ERROR" },
    "profile": { "nvtx": false, "cufile_stats": 3 },
    "execution": { "max_io_queue_depth": 128, "max_io_threads": 4, "parallel_io" : true, "min_io_threshold_size_kb" : 8192, "max_request_parallelism" : 4 },
    "properties": {
            "max_direct_io_size_kb" : 16384, // max IO chunk
            "max_device_cache_size_kb" : 131072,
            "max_device_pinned_mem_size_kb" : 33554432,
            "use_poll_mode" : false,
            "use_pci_p2pdma": false,
            "allow_compat_mode": true,
            "rdma_dev_addr_list": [ ],
            "rdma_load_balancing_policy": "RoundRobin // \" not a comment"
    },
    "block": { "nvme": { "use_pci_p2pdma": true } },
    "fs": { "generic": { "posix_unaligned_writes" : false }, "lustre": { "posix_gds_min_kb" : 0 } },
    "denylist": { "drivers": [ ] }
    // "application": { }
}
`

func TestSettingsAreReadFromAFileWithComments(t *testing.T) {
	config, err := ParseCuFileConfig([]byte(shippedCuFileConfig))
	if err != nil {
		t.Fatal(err)
	}
	if want := map[string]bool{
		AllowCompatMode: true, "properties.use_pci_p2pdma": false, "block.nvme.use_pci_p2pdma": true, "properties.use_poll_mode": false,
		"execution.parallel_io": true, "fs.generic.posix_unaligned_writes": false,
	}; !maps.Equal(config.Switches, want) {
		t.Errorf("switches %v, want %v", config.Switches, want)
	}
	if want := map[string]uint64{
		"properties.max_direct_io_size": 16 << 20, "properties.max_device_cache_size": 128 << 20,
		"properties.max_device_pinned_mem_size": 32 << 30, "execution.min_io_threshold_size": 8 << 20,
	}; !maps.Equal(config.Bytes, want) {
		t.Errorf("sizes %v, want %v", config.Bytes, want)
	}
	if want := map[string]uint64{
		"execution.max_io_threads": 4, "execution.max_io_queue_depth": 128, "execution.max_request_parallelism": 4, "profile.cufile_stats": 3,
	}; !maps.Equal(config.Counts, want) {
		t.Errorf("counts %v, want %v", config.Counts, want)
	}
	if config.LogDirectory != "/var/log//cufile" {
		t.Errorf("logs go to %q", config.LogDirectory)
	}
}

func TestSettingsOfAnotherTypeArePassedOver(t *testing.T) {
	config, err := ParseCuFileConfig([]byte(`{"properties": {"allow_compat_mode": "yes", "max_direct_io_size_kb": -1, "per_buffer_cache_size_kb": 1.5,
		"max_device_cache_size_kb": 9223372036854775807}, "execution": [4], "logging": {"dir": 5}}`))
	if err != nil || len(config.Switches)+len(config.Bytes)+len(config.Counts) > 0 || config.LogDirectory != "" {
		t.Errorf("%+v, %v", config, err)
	}
}

func TestWhatIsNoConfigurationIsAnError(t *testing.T) {
	for _, text := range []string{"", "[]", "{", `{"a": 1} {}`, `{"a": "unended}`, "/* {} ", "// {}", strings.Repeat("[", 20000), shippedCuFileConfig[:len(shippedCuFileConfig)/2]} {
		if config, err := ParseCuFileConfig([]byte(text)); err == nil {
			t.Errorf("%.40q: %+v", text, config)
		}
	}
}

func FuzzCuFileConfig(f *testing.F) {
	f.Add([]byte(shippedCuFileConfig))
	f.Add([]byte(`{"a": "\\\"//"} // x`))
	f.Add([]byte(`/**/{}/*`))
	f.Fuzz(func(t *testing.T, text []byte) {
		plain := withoutComments(text)
		if len(plain) != len(text) || strings.Count(string(plain), "\n") != strings.Count(string(text), "\n") {
			t.Fatalf("%q became %q", text, plain)
		}
		config, err := ParseCuFileConfig(text)
		if err != nil {
			return
		}
		for name, bytes := range config.Bytes {
			if bytes%1024 != 0 || !slices.Contains(cuFileSizes(), name) {
				t.Errorf("%s is %d", name, bytes)
			}
		}
		again, err := ParseCuFileConfig(plain)
		if err != nil || !maps.Equal(again.Switches, config.Switches) || !maps.Equal(again.Counts, config.Counts) {
			t.Errorf("without comments %+v, %v, with them %+v", again, err, config)
		}
	})
}

// The lines are as users have published them, but the last.
const compatLog = ` 09-06-2025 07:00:09:116 [pid=276 tid=276] NOTICE  cufio-drv:830 running in compatible mode
 09-06-2025 07:01:23:837 [pid=276 tid=454] ERROR  cufio-udev:67 udev property not found: ID_FS_USAGE dm-0
26-11-2025 21:07:09:14 [pid=809108 tid=809108] NOTICE  cufio:293 cuFileHandleRegister GDS not supported or disabled by config, using cuFile posix read/write with compat mode enabled
 06-02-2025 18:40:12:767 [pid=2528915 tid=2528915] INFO   0:314 Lib being used for urcup concurrency :  liburcu-bp.so.6
 06-02-2025 18:40:12:768 [pid=2528915 tid=2528915] INFO   cufio_core:650 Loaded successfully URCU library
 06-02-2025 18:40:13:1 [pid=77 tid=78] TRACE  cufio-px:12 p2p mode: 1 compat: 0
`

func TestMessagesOfALog(t *testing.T) {
	var got []CuFileLogEntry
	marks := map[uint32]*CuFileLogMarks{}
	for line := range strings.Lines(compatLog) {
		entry, ok := ParseCuFileLogLine(strings.TrimSuffix(line, "\n"))
		if !ok {
			t.Fatalf("not understood: %s", line)
		}
		got = append(got, CuFileLogEntry{entry.PID, entry.Level, ""})
		if marks[entry.PID] == nil {
			marks[entry.PID] = &CuFileLogMarks{}
		}
		marks[entry.PID].Add(entry.Message)
	}
	if want := []CuFileLogEntry{{276, "NOTICE", ""}, {276, "ERROR", ""}, {809108, "NOTICE", ""}, {2528915, "INFO", ""}, {2528915, "INFO", ""}, {77, "TRACE", ""}}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	for pid, want := range map[uint32]CuFileLogMarks{276: {CompatDriver: true}, 809108: {CompatHandle: true}, 2528915: {}, 77: {PeerToPeer: true}} {
		if *marks[pid] != want {
			t.Errorf("%d: %+v, want %+v", pid, *marks[pid], want)
		}
	}
}

func TestLinesThatAreNoMessages(t *testing.T) {
	for _, line := range []string{"", "properties.use_compat_mode : true", " 09-06-2025 07:00:09:116 [pid=4294967296 tid=1] NOTICE  a:1 x",
		" 09-06-2025 07:00:09:116 [pid=1 tid=1] LOUD  a:1 x", "x 09-06-2025 07:00:09:116 [pid=1 tid=1] ERROR  a:1 x", " 09-06-2025 07:00:09 [pid=1 tid=1] ERROR  a:1 x"} {
		if entry, ok := ParseCuFileLogLine(line); ok {
			t.Errorf("%q: %+v", line, entry)
		}
	}
}

func TestLogsAreKnownByName(t *testing.T) {
	for name, want := range map[string]bool{
		"cufile.log": true, "cufile_276_2025-06-09_07:00:09.log": true, "cufile_log_1.txt": false, "mycufile.log": false, "cufile.log.1": false, "cufile_a b.log": false,
	} {
		if IsCuFileLogName(name) != want {
			t.Errorf("%s: %v", name, !want)
		}
	}
}

func FuzzCuFileLogLine(f *testing.F) {
	for line := range strings.Lines(compatLog) {
		f.Add(strings.TrimSuffix(line, "\n"))
	}
	f.Fuzz(func(t *testing.T, line string) {
		entry, ok := ParseCuFileLogLine(line)
		if !ok {
			return
		}
		if !slices.Contains(CuFileLogLevels(), entry.Level) || !strings.HasSuffix(line, entry.Message) || strings.Contains(entry.Message, "\n") {
			t.Errorf("%+v of %q", entry, line)
		}
		if utf8.ValidString(line) && !utf8.ValidString(entry.Message) {
			t.Errorf("%q is cut within a character", entry.Message)
		}
	})
}

func TestModeIsJudgedFromEvidenceAndNeverGuessed(t *testing.T) {
	driver, handle, peer := CuFileLogMarks{CompatDriver: true}, CuFileLogMarks{CompatHandle: true}, CuFileLogMarks{PeerToPeer: true}
	tests := []struct {
		name string
		e    CuFileEvidence
		want CuFileVerdict
	}{
		{"may not be looked into", CuFileEvidence{Loaded: true, NvidiaFS: true}, CuFileVerdict{CuFileUnknown, "not_readable"}},
		{"a front end", CuFileEvidence{Inspected: true}, CuFileVerdict{CuFileAbsent, "not_loaded"}},
		{"a log of that name, without the library", CuFileEvidence{Inspected: true, LogOpen: true}, CuFileVerdict{CuFileAbsent, "not_loaded"}},
		{"KVBM with its POSIX backend", CuFileEvidence{Inspected: true, DirectFile: true}, CuFileVerdict{CuFilePosix, "direct_file"}},
		{"PyTorch", CuFileEvidence{Inspected: true, Loaded: true}, CuFileVerdict{CuFileAbsent, "not_used"}},
		{"PyTorch with compat mode demanded", CuFileEvidence{Inspected: true, Loaded: true, ForcedCompat: true}, CuFileVerdict{CuFileAbsent, "not_used"}},
		{"PyTorch beside direct I/O of whoever's", CuFileEvidence{Inspected: true, Loaded: true, DirectFile: true}, CuFileVerdict{CuFileUnknown, "direct_file"}},
		{"nvidia-fs", CuFileEvidence{Inspected: true, Loaded: true, NvidiaFS: true, PeerMemory: true}, CuFileVerdict{CuFileNVFS, "nvidia_fs_open"}},
		{"nvidia-fs, and a file that it cannot have", CuFileEvidence{Inspected: true, Loaded: true, NvidiaFS: true, Log: handle}, CuFileVerdict{CuFileUnknown, "contradictory"}},
		{"nvidia-fs, and compat demanded", CuFileEvidence{Inspected: true, Loaded: true, NvidiaFS: true, ForcedCompat: true}, CuFileVerdict{CuFileCompat, "forced"}},
		{"fell back as a whole", CuFileEvidence{Inspected: true, Loaded: true, Log: driver, PeerMemory: true}, CuFileVerdict{CuFileCompat, "log"}},
		{"fell back for a file", CuFileEvidence{Inspected: true, Loaded: true, Log: handle, CompatForbidden: true}, CuFileVerdict{CuFileCompat, "log"}},
		{"peer to peer", CuFileEvidence{Inspected: true, Loaded: true, Log: peer, DirectFile: true}, CuFileVerdict{CuFileP2PDMA, "log"}},
		{"peer to peer and not", CuFileEvidence{Inspected: true, Loaded: true, Log: CuFileLogMarks{PeerToPeer: true, CompatHandle: true}}, CuFileVerdict{CuFileUnknown, "contradictory"}},
		{"at work, and only one way is left", CuFileEvidence{Inspected: true, Loaded: true, LogOpen: true}, CuFileVerdict{CuFileCompat, "no_other_way"}},
		{"two descriptors, and only one way is left", CuFileEvidence{Inspected: true, Loaded: true, DirectFile: true, TwinFile: true}, CuFileVerdict{CuFileCompat, "no_other_way"}},
		{"at work, GPU memory within reach", CuFileEvidence{Inspected: true, Loaded: true, LogOpen: true, PeerMemory: true}, CuFileVerdict{CuFileUnknown, "other_ways_possible"}},
		{"at work, network file system", CuFileEvidence{Inspected: true, Loaded: true, LogOpen: true, RDMALoaded: true}, CuFileVerdict{CuFileUnknown, "other_ways_possible"}},
		{"at work, compat mode forbidden", CuFileEvidence{Inspected: true, Loaded: true, LogOpen: true, CompatForbidden: true}, CuFileVerdict{CuFileUnknown, "other_ways_possible"}},
		{"at work, configuration unreadable", CuFileEvidence{Inspected: true, Loaded: true, TwinFile: true, ConfigUnknown: true}, CuFileVerdict{CuFileUnknown, "other_ways_possible"}},
	}
	for _, test := range tests {
		if got := test.e.Judge(); got != test.want {
			t.Errorf("%s: %+v, want %+v", test.name, got, test.want)
		}
	}
}
