"""Objects of two files, compared in real ROOT member by member: lines for :func:`support.rootrun.root`, whose arguments
are the files. The answer is ``differences``, a text for each, and ``same``, how many objects have none."""

from __future__ import annotations

COMPARE = """
def members(found):
    # TBufferJSON counts objects; a reference that is left says the same on both sides.
    return json.loads(str(ROOT.TBufferJSON.ConvertToJSON(found)))
IN_MEMORY = 0x0300000f  # bits that say what owns an object, and where it is
def differences(path, one, two):
    if isinstance(one, dict) and isinstance(two, dict):
        for name in sorted(set(one) | set(two)):
            if name == "fBits":
                if one.get(name, 0) & ~IN_MEMORY != two.get(name, 0) & ~IN_MEMORY:
                    yield f"{path}.{name}: {one.get(name)} and {two.get(name)}"
            elif name not in one or name not in two:
                yield f"{path}.{name}: on one side only"
            else:
                yield from differences(f"{path}.{name}", one[name], two[name])
    elif isinstance(one, list) and isinstance(two, list):
        if len(one) != len(two):
            yield f"{path}: {len(one)} and {len(two)} items"
        for place, (a, b) in enumerate(zip(one, two)):
            yield from differences(f"{path}[{place}]", a, b)
    elif isinstance(one, (int, float)) and isinstance(two, (int, float)):
        # Sums of products may be taken in another order by the compiler.
        if abs(one - two) > 1e-12 * max(abs(one), abs(two)) + 1e-13:
            yield f"{path}: {one} and {two}"
    elif one != two:
        yield f"{path}: {one} and {two}"
files = [ROOT.TFile(name) for name in sys.argv[1:3]]
names = [sorted({key.GetName() for key in file.GetListOfKeys()}) for file in files]
found = [f"{name}: on one side only" for name in set(names[0]) ^ set(names[1])]
for name in set(names[0]) & set(names[1]):
    one, two = [file.Get(name) for file in files]
    found += [f"{name} ({one.ClassName()}){text}" for text in differences("", members(one), members(two))]
answer({"differences": found, "same": len(names[0]) - len({text.split(" ")[0] for text in found})})
"""
