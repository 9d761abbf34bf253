package nvml

import (
	"bytes"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"
)

const headLine = `{"format":"umascope nvml recording","version":1,"driver_version":"580.142"}` + "\n"
const initLine = `{"device":-1,"call":"nvmlInit_v2","return":0,"duration_ns":1}` + "\n"

func TestReplayAnswersAsTheDriverDid(t *testing.T) {
	f := newFake(2)
	f.set(0, CallFields, Value{Numbers: map[string]uint64{"energy": 1 << 60}, Refused: map[string]Return{"sync_boost": NotSupported}})
	f.set(0, CallMargin, Value{Number: ^uint64(7)})
	f.set(1, CallComputeProcesses, Value{Processes: []Process{{PID: 1}, {PID: 2, UsedBytes: new(uint64(0))}}})
	var recording bytes.Buffer
	recorder := Record(f, &recording)
	reader := NewReader(recorder, ReaderOptions{})
	want := snapshot(t, reader)
	reader.Close()
	if err := recorder.Err(); err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(recording.String(), headLine+`{"device":-1,"call":"nvmlInit_v2","return":0,`) {
		t.Errorf("recording begins %.300s", recording.String())
	}
	driver, err := Replay(&recording)
	if err != nil {
		t.Fatal(err)
	}
	replayed := NewReader(driver, ReaderOptions{})
	for range 3 {
		if got := snapshot(t, replayed); !reflect.DeepEqual(got, want) {
			t.Fatalf("replayed %+v\nrecorded %+v", got, want)
		}
	}
	replayed.Close()
}

func TestReplayGivesAnswersInSequenceAndRepeatsTheLast(t *testing.T) {
	text := headLine + initLine
	for _, n := range []int{5, 6, 7} {
		text += fmt.Sprintf(`{"device":0,"call":"nvmlDeviceGetTemperature","return":0,"value":{"number":%d}}`+"\n", n)
	}
	text += `{"device":0,"call":"nvmlDeviceGetFanSpeed","return":3}` + "\n"
	driver, err := Replay(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []uint64{5, 6, 7, 7, 7} {
		if v, code := driver.Do(0, CallTemperature); code != Success || v.Number != want {
			t.Errorf("%d, %v, want %d", v.Number, code, want)
		}
	}
	if _, code := driver.Do(0, CallFan); code != NotSupported {
		t.Errorf("fan: %v", code)
	}
	if _, code := driver.Do(1, CallTemperature); code != NotRecorded {
		t.Errorf("a call that was not recorded: %v", code)
	}
}

func TestRecordingOfAMachineWithoutDriverReplaysAsOne(t *testing.T) {
	f := newFake(0)
	f.opens = []Return{LibraryNotFound}
	var recording bytes.Buffer
	NewReader(Record(f, &recording), ReaderOptions{}).Read(t.Context()).Snapshot(t.Context())
	driver, err := Replay(&recording)
	if err != nil {
		t.Fatal(err)
	}
	s, err := NewReader(driver, ReaderOptions{}).Read(t.Context()).Snapshot(t.Context())
	if !errors.Is(err, ErrUnavailable) || s.Return != LibraryNotFound {
		t.Errorf("%v, %d", err, s.Return)
	}
}

func TestBrokenRecordingsAreRefusedByLine(t *testing.T) {
	for name, c := range map[string]struct{ text, want string }{
		"empty":              {"", "line 1: "},
		"another format":     {`{"format":"x","version":1}` + "\n", "line 1: not a recording"},
		"another version":    {strings.Replace(headLine, ":1,", ":2,", 1), "line 1: recording format 2"},
		"no header":          {initLine, "line 1: "},
		"never opened":       {headLine + `{"device":0,"call":"x","return":0}` + "\n", "line 2: the recording ends before nvmlInit_v2"},
		"cut line":           {headLine + initLine + `{"device":0,"call":"nvml`, "line 3: "},
		"two objects":        {headLine + initLine + `{"device":0,"call":"a","return":0}{}`, "line 3: more than one"},
		"unknown field":      {headLine + initLine + `{"device":0,"call":"a","return":0,"x":1}`, "line 3: "},
		"no device":          {headLine + initLine + `{"call":"a","return":0}`, "line 3: device -2"},
		"device out of hand": {headLine + initLine + `{"device":256,"call":"a","return":0}`, "line 3: device 256"},
		"no call":            {headLine + initLine + `{"device":0,"return":0}`, "line 3: no call name"},
		"code out of hand":   {headLine + initLine + `{"device":0,"call":"a","return":-9}`, "line 3: return code -9"},
		"devices by million": {headLine + initLine + `{"device":-1,"call":"nvmlDeviceGetCount_v2","return":0,"value":{"number":1000000}}`, "line 3: 1000000 devices"},
		"links by thousand":  {headLine + initLine + `{"device":0,"call":"a","return":0,"value":{"links":[` + strings.Repeat(`{},`, 1000) + `{}]}}`, "line 3: 0 instances, 1001 links"},
		"line without end":   {headLine + initLine + strings.Repeat("x", 2*maxLineBytes), "line 3: "},
	} {
		_, err := Replay(strings.NewReader(c.text))
		if err == nil || !strings.HasPrefix(err.Error(), c.want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// full is a writer that takes n bytes and then no more.
type full struct{ n int }

func (f *full) Write(p []byte) (int, error) {
	if f.n -= len(p); f.n < 0 {
		return 0, errors.New("disk full")
	}
	return len(p), nil
}

func TestRecorderThatCannotWriteStillAnswers(t *testing.T) {
	recorder := Record(newFake(1), &full{n: 200})
	d := snapshot(t, NewReader(recorder, ReaderOptions{})).Devices[0]
	if err := recorder.Err(); err == nil || !strings.Contains(err.Error(), "disk full") || d.PowerWatts == nil {
		t.Errorf("%v, %+v", err, d)
	}
}

func TestRecordingIsBounded(t *testing.T) {
	f := newFake(1)
	f.set(0, CallName, Value{Text: strings.Repeat("x", 1<<20)})
	var written countingWriter
	recorder := Record(f, &written)
	recorder.Init()
	for recorder.Err() == nil && written < 2*maxRecordingBytes {
		recorder.Do(0, CallName)
	}
	if !errors.Is(recorder.Err(), ErrRecordingFull) || written > maxRecordingBytes {
		t.Errorf("%v after %d bytes", recorder.Err(), written)
	}
}

type countingWriter int

func (c *countingWriter) Write(p []byte) (int, error) {
	*c += countingWriter(len(p))
	return len(p), nil
}

func FuzzReplay(f *testing.F) {
	f.Add(headLine + initLine)
	f.Add(headLine + initLine + `{"device":-1,"call":"nvmlDeviceGetCount_v2","return":0,"value":{"number":1}}` + "\n" +
		`{"device":0,"call":"nvmlDeviceGetComputeRunningProcesses","return":0,"value":{"processes":[{"pid":7,"used_bytes":5},{"pid":7}]}}` + "\n" +
		`{"device":0,"call":"nvmlDeviceGetFieldValues","return":0,"value":{"numbers":{"energy":18446744073709551615},"refused":{"x":3}}}` + "\n" +
		`{"device":0,"call":"nvmlDeviceGetTemperature","return":15,"duration_ns":12}`)
	f.Add(headLine + `{"device":-1,"call":"nvmlInit_v2","return":12}`)
	f.Add(headLine + initLine + `{"device":-1,"call":"nvmlDeviceGetCount_v2","return":0,"value":{"number":1}}` + "\n" +
		`{"device":0,"call":"nvmlDeviceGetMigMode","return":0,"value":{"number":1}}` + "\n" +
		`{"device":0,"call":"nvmlDeviceGetComputeRunningProcesses","return":0,"value":{"processes":[{"pid":7,"used_bytes":5,"gpu_instance":1,"compute_instance":0}]}}` + "\n" +
		`{"device":0,"call":"nvmlDeviceGetMigDeviceHandleByIndex","return":0,"value":{"instances":[{"uuid":"MIG-1","gpu_instance":1,"compute_instance":0,"total_bytes":9}]}}` + "\n" +
		`{"device":0,"call":"nvmlEventSetWait_XID","return":0,"value":{"numbers":{"79":1,"x":2}}}` + "\n" +
		`{"device":0,"call":"nvmlDeviceGetFieldValues_LINKS","return":0,"value":{"numbers":{"pcie_replays":1},"links":[{"link":-1,"errors":{"crc":1}}]}}`)
	f.Fuzz(func(t *testing.T, text string) {
		driver, err := Replay(strings.NewReader(text))
		if err != nil {
			if !strings.HasPrefix(err.Error(), "line ") || strings.Contains(err.Error(), "\n") {
				t.Fatalf("error %q", err)
			}
			return
		}
		// What a recording says is reported, and recording the replay gives the same again.
		var again bytes.Buffer
		first, errFirst := NewReader(Record(driver, &again), ReaderOptions{}).Read(t.Context()).Snapshot(t.Context())
		checkDevices(t, first)
		replayed, err := Replay(&again)
		if err != nil {
			t.Fatalf("recording of the replay: %v", err)
		}
		second, errSecond := NewReader(replayed, ReaderOptions{}).Read(t.Context()).Snapshot(t.Context())
		if !reflect.DeepEqual(first, second) || (errFirst == nil) != (errSecond == nil) {
			t.Fatalf("%+v %v\n%+v %v", first, errFirst, second, errSecond)
		}
	})
}

func checkDevices(t *testing.T, s Snapshot) {
	t.Helper()
	for _, d := range s.Devices {
		for i, p := range d.Processes {
			if i > 0 && p.PID <= d.Processes[i-1].PID {
				t.Fatalf("PID %d stands twice or out of order", p.PID)
			}
		}
		for _, value := range []*float64{d.PowerWatts, d.EnergyJoules, d.UtilizationRatio, d.SMClockHertz, d.MemoryTotalBytes} {
			if value != nil && !(*value >= 0) {
				t.Fatalf("%v is negative or not a number: %+v", *value, d)
			}
		}
	}
}
