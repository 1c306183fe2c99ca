"""Measurements of ngdt beside other models and published results, as commands.

    python -m benchmarks -h
    python -m benchmarks record
    python -m benchmarks all --quick

Each benchmark is a list of jobs. A finished job is one or several rows of a CSV file in `results`,
and is not run again. Figures and tables are made of these rows.

- `data.py`: reads all data sets, and splits them
- `models.py`: the models and methods that are compared
- `fitting.py`: choice by validation samples, time and size of a model
- `runner.py`: runs the jobs of a benchmark, and keeps its rows
- `figures.py`: the figures

Every other file has one benchmark, or those of one paper.
"""
