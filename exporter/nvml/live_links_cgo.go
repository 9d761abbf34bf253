//go:build cgo

package nvml

import "github.com/NVIDIA/go-nvml/pkg/nvml"

// linkErrorFields are the error counters of one NVLink. Up to Hopper there are three; Blackwell replaces them. A kind
// that two fields give is taken from the field that answers.
func linkErrorFields() []field {
	return []field{
		{"replay", nvml.FI_DEV_NVLINK_ERROR_DL_REPLAY},
		{"recovery", nvml.FI_DEV_NVLINK_ERROR_DL_RECOVERY},
		{"crc", nvml.FI_DEV_NVLINK_ERROR_DL_CRC},
		{"recovery", nvml.FI_DEV_NVLINK_COUNT_LINK_RECOVERY_EVENTS},
		{"recovery_failed", nvml.FI_DEV_NVLINK_COUNT_LINK_RECOVERY_FAILED_EVENTS},
		{"malformed_packet", nvml.FI_DEV_NVLINK_COUNT_MALFORMED_PACKET_ERRORS},
		{"buffer_overrun", nvml.FI_DEV_NVLINK_COUNT_BUFFER_OVERRUN_ERRORS},
		{"receive", nvml.FI_DEV_NVLINK_COUNT_RCV_ERRORS},
		{"link_integrity", nvml.FI_DEV_NVLINK_COUNT_LOCAL_LINK_INTEGRITY_ERRORS},
		{"effective", nvml.FI_DEV_NVLINK_COUNT_EFFECTIVE_ERRORS},
	}
}

// linkFields reads the PCIe replays and, if there are NVLinks, the errors of those that are up: two calls, however many
// links there are.
func linkFields(d nvml.Device) (Value, nvml.Return) {
	v, code := fields([]field{
		{fieldPCIeReplays, nvml.FI_DEV_PCIE_REPLAY_COUNTER},
		{fieldNVLinks, nvml.FI_DEV_NVLINK_LINK_COUNT},
	})(d)
	if code == nvml.SUCCESS {
		v.Links, code = links(d, int(min(v.Numbers[fieldNVLinks], maxLinks)))
	}
	return v, code
}

// links reads the first count NVLinks in one call: for each its state and then its counters.
func links(d nvml.Device, count int) ([]Link, nvml.Return) {
	if count == 0 {
		return nil, nvml.SUCCESS // an empty list of fields would crash go-nvml
	}
	kinds := linkErrorFields()
	perLink := 1 + len(kinds)
	request := make([]nvml.FieldValue, 0, count*perLink)
	for link := range count {
		request = append(request, nvml.FieldValue{FieldId: nvml.FI_DEV_NVLINK_GET_STATE, ScopeId: uint32(link)})
		for _, kind := range kinds {
			request = append(request, nvml.FieldValue{FieldId: kind.id, ScopeId: uint32(link)})
		}
	}
	if code := d.GetFieldValues(request); code != nvml.SUCCESS {
		return nil, code
	}
	var found []Link
	for link := range count {
		if errors := linkErrors(kinds, request[link*perLink:][:perLink]); len(errors) > 0 {
			found = append(found, Link{Number: link, Errors: errors})
		}
	}
	return found, nvml.SUCCESS
}

// linkErrors returns the errors of one link by kind, from its state and the answers to kinds; none for a link that is
// down, whose counters are meaningless.
func linkErrors(kinds []field, answers []nvml.FieldValue) map[string]uint64 {
	if state, code := fieldAnswer(answers[0]); code == Success && state == uint64(nvml.FEATURE_DISABLED) {
		return nil
	}
	errors := map[string]uint64{}
	for i, kind := range kinds {
		n, code := fieldAnswer(answers[1+i])
		if _, known := errors[kind.name]; code == Success && !known {
			errors[kind.name] = n
		}
	}
	return errors
}
