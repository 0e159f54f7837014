//! Line charts as SVG, legible on light and on dark pages.

use std::collections::BTreeSet;
use std::fmt::Write;

use super::table::whole;
use crate::result::{Record, Spread};

/// The description of a chart.
#[derive(Clone, Debug)]
pub struct Picture {
    /// The work.
    pub work: &'static str,
    /// The heading.
    pub title: &'static str,
    /// The figure on the vertical axis.
    pub figure: Figure,
    /// One line per target.
    pub lines: Vec<Line>,
}

/// A figure of a measurement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Figure {
    /// Turns per second.
    Rate,
    /// The median latency, in ms.
    P50,
    /// The 99th percentile of the latency, in ms.
    P99,
    /// A further figure of the work, by name.
    Extra(&'static str),
}

/// A target's line.
#[derive(Clone, Debug)]
pub struct Line {
    /// The target.
    pub target: &'static str,
    /// The label in the legend.
    pub label: &'static str,
    /// A CSS color.
    pub color: &'static str,
    /// The style of the line.
    pub stroke: Stroke,
}

/// The style of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stroke {
    /// The subject of the chart.
    Bold,
    /// A variant of the subject.
    Dashed,
    /// A reference for comparison.
    Thin,
}

// In pixels.
const WIDTH: f64 = 860.0;
const HEIGHT: f64 = 440.0;
const LEFT: f64 = 74.0;
const RIGHT: f64 = 290.0;
const TOP: f64 = 50.0;
const BOTTOM: f64 = 40.0;
/// The minimum distance of two labels.
const LABEL: f64 = 17.0;

const STYLE: &str = "text{font:12px system-ui,sans-serif;fill:#1f2328}.title{font-size:15px;font-weight:600}\
.grid{stroke:#d1d9e0}.tick{fill:#59636e}polyline{fill:none;stroke-linejoin:round;stroke-width:1.6}.bold{stroke-width:2.8}\
.dashed{stroke-width:2.2;stroke-dasharray:6 4}\
@media(prefers-color-scheme:dark){text{fill:#f0f6fc}.grid{stroke:#3d444d}.tick{fill:#9198a1}}";

impl Picture {
    /// The file name, beside the page.
    pub fn file(&self) -> String {
        let figure = match self.figure {
            Figure::Rate => "rate",
            Figure::P50 => "p50",
            Figure::P99 => "p99",
            Figure::Extra(name) => name,
        };
        format!("{}-{}.svg", self.work, figure.replace('_', "-"))
    }
}

/// Draws the chart. The vertical axis is logarithmic; levels are spaced evenly, in order.
pub fn draw(picture: &Picture, records: &[Record]) -> String {
    let levels: Vec<usize> = records.iter().map(|record| record.level).collect::<BTreeSet<_>>().into_iter().collect();
    let lines: Vec<(&Line, Vec<Option<f64>>)> = picture
        .lines
        .iter()
        .map(|line| (line, levels.iter().map(|level| height(picture.figure, line, *level, records)).collect()))
        .filter(|(_, heights): &(_, Vec<Option<f64>>)| heights.iter().any(Option::is_some))
        .collect();
    let scale = Scale::of(lines.iter().flat_map(|(_, heights)| heights.iter().flatten().copied()));
    let across = |index: usize| {
        let steps = levels.len().saturating_sub(1).max(1) as f64;
        LEFT + (WIDTH - LEFT - RIGHT) * index as f64 / steps
    };

    let mut svg = Svg::default();
    svg.text(LEFT, 24.0, "title", "start", picture.title);
    for (value, label) in scale.ticks() {
        let y = scale.down(value);
        svg.add(&format!(
            "<line class=\"grid\" x1=\"{LEFT}\" x2=\"{:.1}\" y1=\"{y:.1}\" y2=\"{y:.1}\"/>",
            WIDTH - RIGHT
        ));
        svg.text(LEFT - 8.0, y + 4.0, "tick", "end", &label);
    }
    for (index, level) in levels.iter().enumerate() {
        svg.text(across(index), HEIGHT - BOTTOM + 20.0, "tick", "middle", &whole(*level as f64));
    }
    let mut ends: Vec<(f64, &Line, f64)> = Vec::new();
    for (line, heights) in &lines {
        let known = heights.iter().enumerate().filter_map(|(index, value)| Some((across(index), (*value)?)));
        let points: Vec<(f64, f64)> = known.collect();
        svg.line(line, points.iter().map(|(x, value)| (*x, scale.down(*value))));
        ends.extend(points.last().map(|(_, value)| (scale.down(*value), *line, *value)));
    }
    for (y, (_, line, value)) in separate_labels(&mut ends) {
        svg.text_in(line.color, WIDTH - RIGHT + 12.0, y + 4.0, &format!("{} {}", line.label, short(value)));
    }
    svg.finish()
}

fn height(figure: Figure, line: &Line, level: usize, records: &[Record]) -> Option<f64> {
    let here = records.iter().filter(|record| record.target == line.target && record.level == level);
    let values = here.filter_map(|record| match figure {
        Figure::Rate => record.figures.rate,
        Figure::P50 => Some(record.figures.latency?.p50),
        Figure::P99 => Some(record.figures.latency?.p99),
        Figure::Extra(name) => record.figures.extra.get(name).copied(),
    });
    Spread::of(values.filter(|value| *value > 0.0)).map(|spread| spread.median)
}

/// Separates overlapping labels: downwards from the top, and then upwards from the bottom.
fn separate_labels<'a>(ends: &'a mut [(f64, &'a Line, f64)]) -> Vec<(f64, (f64, &'a Line, f64))> {
    ends.sort_by(|one, other| one.0.total_cmp(&other.0));
    let mut positions: Vec<f64> = ends.iter().map(|(y, _, _)| *y).collect();
    for index in 1..positions.len() {
        positions[index] = positions[index].max(positions[index - 1] + LABEL);
    }
    let mut lowest = HEIGHT - BOTTOM;
    for position in positions.iter_mut().rev() {
        *position = position.min(lowest);
        lowest = *position - LABEL;
    }
    positions.into_iter().zip(ends.iter().copied()).collect()
}

/// Abbreviates a number: 12,345 is 12.3k.
fn short(value: f64) -> String {
    match value {
        1e6.. => format!("{:.1}M", value / 1e6),
        1e5.. => format!("{:.0}k", value / 1e3),
        1e3.. => format!("{:.1}k", value / 1e3),
        10.0.. => format!("{value:.0}"),
        _ => format!("{value:.2}"),
    }
}

/// A logarithmic scale between two powers of ten.
struct Scale {
    least: f64,
    most: f64,
}

impl Scale {
    fn of(values: impl Iterator<Item = f64> + Clone) -> Self {
        let least = values.clone().fold(f64::INFINITY, f64::min).log10().floor();
        let most = values.fold(f64::NEG_INFINITY, f64::max).log10().ceil();
        if least.is_finite() && most > least { Self { least, most } } else { Self { least: 0.0, most: 1.0 } }
    }

    fn down(&self, value: f64) -> f64 {
        let share = (value.log10() - self.least) / (self.most - self.least);
        HEIGHT - BOTTOM - share * (HEIGHT - TOP - BOTTOM)
    }

    fn ticks(&self) -> Vec<(f64, String)> {
        let decades = (self.least as i32)..=(self.most as i32);
        decades.map(|power| 10f64.powi(power)).map(|value| (value, tick(value))).collect()
    }
}

fn tick(value: f64) -> String {
    if value < 1.0 { value.to_string() } else { whole(value) }
}

#[derive(Default)]
struct Svg(String);

impl Svg {
    fn add(&mut self, element: &str) {
        self.0.push_str(element);
        self.0.push('\n');
    }

    fn text(&mut self, x: f64, y: f64, class: &str, anchor: &str, text: &str) {
        self.add(&format!("<text x=\"{x:.1}\" y=\"{y:.1}\" class=\"{class}\" text-anchor=\"{anchor}\">{text}</text>"));
    }

    fn text_in(&mut self, color: &str, x: f64, y: f64, text: &str) {
        self.add(&format!("<text x=\"{x:.1}\" y=\"{y:.1}\" style=\"fill:{color}\">{text}</text>"));
    }

    fn line(&mut self, line: &Line, points: impl Iterator<Item = (f64, f64)> + Clone) {
        let class = match line.stroke {
            Stroke::Bold => "bold",
            Stroke::Dashed => "dashed",
            Stroke::Thin => "thin",
        };
        let mut path = String::new();
        for (x, y) in points.clone() {
            // Writing to a string does not fail.
            let _ = write!(path, "{x:.1},{y:.1} ");
        }
        self.add(&format!("<polyline class=\"{class}\" stroke=\"{}\" points=\"{}\"/>", line.color, path.trim_end()));
        for (x, y) in points {
            self.add(&format!("<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"3\" fill=\"{}\"/>", line.color));
        }
    }

    fn finish(self) -> String {
        format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" role=\"img\">\n<style>{STYLE}</style>\n{}</svg>\n",
            self.0
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measure::Figures;

    const LINE: Line = Line { target: "one", label: "One", color: "#000", stroke: Stroke::Bold };

    #[test]
    fn chart_has_the_measured_points() {
        let picture = Picture { work: "w", title: "T", figure: Figure::Rate, lines: vec![LINE] };
        let record = |level, rate| {
            let figures = Figures { rate: Some(rate), ..Figures::default() };
            Record { work: "w".into(), target: "one".into(), level, round: 1, figures }
        };
        let svg = draw(&picture, &[record(1, 10.0), record(16, 1000.0)]);
        let points = format!("points=\"{LEFT:.1},{:.1} {:.1},{TOP:.1}\"", HEIGHT - BOTTOM, WIDTH - RIGHT);
        assert!(svg.contains(&points) && svg.contains(">One 1.0k<"), "{svg}");
    }

    #[test]
    fn labels_do_not_overlap() {
        let bottom = HEIGHT - BOTTOM;
        let mut ends = [(bottom, &LINE, 1.0), (bottom - 1.0, &LINE, 2.0), (60.0, &LINE, 3.0), (61.0, &LINE, 4.0)];
        let positions: Vec<f64> = separate_labels(&mut ends).into_iter().map(|(y, _)| y).collect();
        assert!(positions.windows(2).all(|two| two[1] - two[0] >= LABEL) && positions[3] <= bottom, "{positions:?}");
    }
}
