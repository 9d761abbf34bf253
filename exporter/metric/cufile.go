package metric

func cufileDefs() []Definer { return nil }
