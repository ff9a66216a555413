"""Makes, scales and compares pictures with Pillow, for the benchmark of renditions.

Usage: pillow_rival.py make FOLDER COUNT SIDE          writes photos NUMBER.jpg
       pillow_rival.py scale FOLDER SIZE               prints the processor time per thumbnail, in microseconds
       pillow_rival.py compare FOLDER RENDITIONS SIZE  prints the mean and the worst colour error, of 255, of the
                                                       renditions, and of thumbnails by Pillow
"""

import io
import random
import sys
import time
from pathlib import Path

from PIL import Image, ImageChops, ImageDraw, ImageStat


def noise(side, sigma, finest):
    """Noise with the same energy in each octave, like photos."""
    picture = Image.new("L", (side, side), 128)
    step = 256
    while step >= finest:
        octave = Image.effect_noise((side // step + 2, side // step + 2), sigma).resize((side, side), Image.BICUBIC)
        picture = ImageChops.add(picture, octave, 1, -128)
        step //= 2
    return picture


def photo(side, chance):
    """Noise whose colours vary less than its light, with some shapes that have hard edges."""
    sigma = chance.uniform(4, 20)
    light, blue, red = noise(side, sigma, 2), noise(side, sigma / 2, 32), noise(side, sigma / 2, 32)
    picture = Image.merge("YCbCr", (light, blue, red)).convert("RGB")
    draw = ImageDraw.Draw(picture)
    for _ in range(chance.randint(2, 8)):
        x, y, radius = chance.randrange(side), chance.randrange(side), chance.randint(side // 30, side // 4)
        draw.ellipse((x - radius, y - radius, x + radius, y + radius), tuple(chance.randrange(256) for _ in range(3)))
    return picture


def files(folder):
    return sorted(Path(folder).glob("*.jpg"))


def make(folder, count, side):
    chance = random.Random(7)
    for number in range(count):
        photo(side, chance).save(
            Path(folder) / f"{number:04}.jpg",
            quality=chance.randint(70, 95),
            subsampling=chance.choice([0, 2, 2, 2]),
            progressive=chance.random() < 0.2,
        )


def scale(folder, size):
    names = files(folder)
    begun = time.process_time()
    for name in names:
        picture = Image.open(name)
        picture.thumbnail((size, size), Image.LANCZOS)
        picture.save(io.BytesIO(), "JPEG", quality=90, subsampling=0)
    print((time.process_time() - begun) * 1e6 / len(names))


def compare(folder, renditions, size):
    ours, theirs = [], []
    for name in files(folder):
        exact = Image.open(name).convert("RGB").resize((size, size), Image.LANCZOS)
        coded = io.BytesIO()
        exact.save(coded, "JPEG", quality=90, subsampling=0)
        for errors, small in ((ours, Path(renditions) / name.name), (theirs, coded)):
            difference = ImageChops.difference(exact, Image.open(small).convert("RGB"))
            errors.append(sum(ImageStat.Stat(difference).mean) / 3)
    for errors in (ours, theirs):
        print(sum(errors) / len(errors), max(errors))


if __name__ == "__main__":
    task, folder, *rest = sys.argv[1:]
    if task == "make":
        make(folder, *map(int, rest))
    elif task == "scale":
        scale(folder, int(rest[0]))
    else:
        compare(folder, rest[0], int(rest[1]))
