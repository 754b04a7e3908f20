"""Completes what a study says of its workload: scale, options and scripts that it leaves open."""

from __future__ import annotations

from steelyard.study.study import Study, WorkloadChoice
from steelyard.workloads.reading.unused_options import refuse_idle
from steelyard.workloads.reading.workload import Workload, find_workload


def chosen_workload(choice: WorkloadChoice) -> Workload:
    """The workload of a study with the options that were chosen; UsageError: there is none such."""
    return find_workload(choice.name, choice.options)


def chosen_scale(choice: WorkloadChoice) -> int:
    """The scale of a study, or the one its workload has where the study names none."""
    return choice.scale or chosen_workload(choice).default_scale


def complete(choice: WorkloadChoice) -> WorkloadChoice:
    """The choice with the workload's own scale, options and mix where a study says nothing.

    UsageError: an option was chosen that changes nothing of what is driven.
    """
    workload = chosen_workload(choice)
    own = not choice.scripts
    if own:
        refuse_idle(workload, choice.clients)
    return choice.model_copy(
        update={
            "scale": chosen_scale(choice),
            "options": dict(workload.chosen),
            "scripts": choice.scripts or workload.mix(),
            "streams": workload.streams_of(choice.clients) if own else choice.streams,
            "aside": workload.aside if own else choice.aside,
            "mode": choice.mode or workload.mode,
        }
    )


def completed(study: Study) -> Study:
    """A study whose workload is fully said, as its record keeps it."""
    return study.model_copy(update={"workload": complete(study.workload)})
