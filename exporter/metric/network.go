package metric

func networkDefs() []Definer { return nil }
