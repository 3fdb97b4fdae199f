"""Maps the three top folders into the package, so that a build needs no symbolic links."""

from setuptools import find_packages, setup

TOP = ("graph", "nodes", "prompts")

setup(
    packages=[
        *find_packages(include=["thoughtcycle*"], exclude=[f"thoughtcycle.{top}*" for top in TOP]),
        *(
            f"thoughtcycle.{name}"
            for top in TOP
            for name in (top, *(f"{top}.{one}" for one in find_packages(top)))
        ),
    ],
    package_dir={f"thoughtcycle.{top}": top for top in TOP},
)
