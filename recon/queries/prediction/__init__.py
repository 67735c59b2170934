"""A released model as a predictor: its inputs, its answers, its views as a black box."""
