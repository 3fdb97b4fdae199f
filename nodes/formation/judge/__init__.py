"""The judge of an exchange: by one model call, or by rules alone."""

from thoughtcycle.nodes.formation.judge.model_judge import judge, judge_cycle

__all__ = ["judge", "judge_cycle"]
