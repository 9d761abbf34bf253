package hostfs

import (
	"maps"
	"reflect"
	"strings"
	"testing"
	"testing/fstest"

	"golang.org/x/sys/unix"
)

// pcieFiles are a ConnectX function of a GB10 machine whose link runs at half its width, a drive, a GPU, a card of a
// virtual machine and an interface behind USB.
func pcieFiles() fstest.MapFS {
	fsys := fstest.MapFS{
		"class/net/enP2p1s0f0np0":             link("../../devices/pci0002:00/0002:01:00.0/net/enP2p1s0f0np0"),
		"class/net/enp0s3":                    link("../../devices/pci0000:00/0000:00:03.0/net/enp0s3"),
		"class/net/usb0":                      link("../../devices/usb1/1-1/1-1:1.0/net/usb0"),
		"class/nvme/nvme0":                    link("../../devices/pci0004:00/0004:01:00.0/nvme/nvme0"),
		"bus/pci/drivers/nvidia/000f:01:00.0": link("../../../../devices/pci000f:00/000f:01:00.0"),
		"devices/pci0002:00/0002:01:00.0/net/enP2p1s0f0np0/device": link("../../../0002:01:00.0"),
		"devices/pci0000:00/0000:00:03.0/net/enp0s3/device":        link("../../../0000:00:03.0"),
		"devices/usb1/1-1/1-1:1.0/net/usb0/device":                 link("../../../1-1:1.0"),
		"devices/pci0004:00/0004:01:00.0/nvme/nvme0/device":        link("../../../0004:01:00.0"),
	}
	for file, content := range map[string]string{
		"pci0002:00/0002:01:00.0/current_link_width": "2\n", "pci0002:00/0002:01:00.0/max_link_width": "4\n",
		"pci0002:00/0002:01:00.0/current_link_speed": "32.0 GT/s PCIe\n", "pci0002:00/0002:01:00.0/max_link_speed": "32.0 GT/s PCIe\n",
		"pci0002:00/0002:01:00.0/aer_dev_correctable": "RxErr 2\nBadTLP 1\nTOTAL_ERR_COR 3\n",
		"pci0002:00/0002:01:00.0/aer_dev_nonfatal":    "Undefined 0\nDLP 0\nTOTAL_ERR_NONFATAL 0\n",
		"pci0002:00/0002:01:00.0/aer_dev_fatal":       "Undefined 0\nDLP 0\nTOTAL_ERR_FATAL 0\n",
		"pci0004:00/0004:01:00.0/current_link_width":  "4\n", "pci0004:00/0004:01:00.0/max_link_width": "4\n",
		"pci0004:00/0004:01:00.0/current_link_speed": "8 GT/s\n", "pci0004:00/0004:01:00.0/max_link_speed": "Unknown speed\n",
		"pci000f:00/000f:01:00.0/current_link_width":  "1\n",
		"pci000f:00/000f:01:00.0/aer_dev_correctable": "TOTAL_ERR_COR 0\n",
		"pci0000:00/0000:00:03.0/vendor":              "0x1af4\n",
		"usb1/1-1/1-1:1.0/current_link_width":         "4\n",
	} {
		fsys["devices/"+file] = &fstest.MapFile{Data: []byte(content)}
	}
	return fsys
}

func TestPCIeLinksAndTheirErrors(t *testing.T) {
	two, three, four, five := new(uint64(2)), new(uint64(3)), new(uint64(4)), new(uint64(5))
	want := []PCIeDevice{
		{Address: "0002:01:00.0", Device: "enP2p1s0f0np0", Link: PCIeLink{two, four, five, five}, Errors: map[string]uint64{"correctable": 3, "nonfatal": 0, "fatal": 0}},
		{Address: "0004:01:00.0", Device: "nvme0", Link: PCIeLink{four, four, three, nil}},
		{Address: "000f:01:00.0", Errors: map[string]uint64{"correctable": 0}},
	}
	if got := must(t, ReadPCIeDevices, onDisk(t, pcieFiles())); !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
}

func TestABrokenPCIeFileCostsOnlyItself(t *testing.T) {
	const function = "devices/pci0002:00/0002:01:00.0/"
	for file, text := range map[string]string{
		"current_link_width": "four\n", "max_link_speed": "32.0 Gb/s\n", "aer_dev_correctable": "RxErr 2\nTOTAL_ERR_COR", "aer_dev_fatal": "DLP 0\n",
	} {
		devices, err := ReadPCIeDevices(replacedFile(t, pcieFiles(), function+file, text))
		if err == nil || !strings.Contains(err.Error(), file) || len(devices) != 3 || devices[0].Link.LanesMax == nil {
			t.Errorf("%s: %+v, %v", file, devices, err)
		}
		refused := failingAt(onDisk(t, pcieFiles()), map[string]error{"class/net/enP2p1s0f0np0/device/" + file: unix.EINVAL})
		if devices, err := ReadPCIeDevices(refused); err != nil || len(devices) != 3 {
			t.Errorf("%s: %+v, %v", file, devices, err)
		}
	}
	if devices, err := ReadPCIeDevices(files(t, nil)); err != nil || len(devices) != 0 {
		t.Errorf("%+v, %v", devices, err)
	}
}

func FuzzPCIeFiles(f *testing.F) {
	addSeeds(f, "32.0 GT/s PCIe\n", "8 GT/s\n", "Unknown\n", "4\n", "255\n", "NaN GT/s\n", "RxErr 2\nTOTAL_ERR_COR 2\n", "TOTAL_ERR_FATAL 1\nTOTAL_ERR_FATAL 2\n")
	f.Fuzz(func(t *testing.T, text string, cut uint16) {
		if lanes, err := parseLanes(text); err == nil && lanes != nil && (*lanes < 1 || *lanes > 32) {
			t.Errorf("%q: %d lanes", text, *lanes)
		}
		if generation, err := parseTransferRate(text); err == nil && generation != nil && (*generation < 1 || *generation > 6 || !strings.Contains(text, "GT/s")) {
			t.Errorf("%q: generation %d", text, *generation)
		}
		total, err := parseErrorTotal(text)
		part, partErr := parseErrorTotal(text[:min(int(cut), len(text))])
		if keyed, _ := parseKeyed(text); err == nil && len(keyed) == strings.Count(text, "\n") && len(keyed) == 1+countersBelow(keyed) && partErr == nil && part != total {
			t.Errorf("%q: total %d, of a part %d", text, total, part)
		}
	})
}

// countersBelow counts the counters beside the total.
func countersBelow(keyed map[string]uint64) int {
	n := 0
	for name := range maps.Keys(keyed) {
		if !strings.HasPrefix(name, "TOTAL_ERR_") {
			n++
		}
	}
	return n
}
