"""The experiments of the papers, and the comparison with published trees, as commands.

    python -m experiments record
    python -m experiments all --quick

Each experiment is a list of jobs. A finished job is one or several rows of a CSV file, and is not
run again. `experiments.__main__` lists the experiments.
"""
