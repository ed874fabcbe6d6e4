"""The recorded numbers are today's."""

import pytest

from tests.golden import areas, differences

SLOW = dict.fromkeys(("figures", "judge", "text"), pytest.mark.slow)


@pytest.mark.filterwarnings("ignore::theory.OutsideValidityWarning")
@pytest.mark.parametrize("area", [pytest.param(area, marks=SLOW.get(area, ())) for area in areas()])
def test_every_number_is_the_recorded_one(area: str) -> None:
    assert differences(area) == []
