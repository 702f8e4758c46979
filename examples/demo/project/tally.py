"""Add up times of day that people worked."""


def parse(text):
    """Return the minutes in ``HH:MM``."""
    hours, minutes = text.split(":")
    return int(hours) * 60 + int(minutes)


def show(minutes):
    """Return minutes as ``HH:MM``."""
    return f"{minutes // 60:02d}:{minutes % 100:02d}"


def total(texts):
    """Return the sum of many ``HH:MM``, as ``HH:MM``."""
    return show(sum(parse(text) for text in texts))
