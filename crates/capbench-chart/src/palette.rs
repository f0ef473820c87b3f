//! Colours, dashes and markers of charts. All formats share one assignment, so that a method looks the same everywhere.
//!
//! No series depends on hue alone: luminance differs as well, lines have dashes and markers, layers have edges. Neighbours
//! among the first eight colours are distinguishable with protanopia and deuteranopia. Every colour has a contrast of at least
//! 3 to 1 with its background (WCAG 2.1, 1.4.11). Tests check both.

use crate::chart::{Chart, Role};

/// A colour for light and for dark backgrounds, as `#rrggbb`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Colour {
    /// On a light background.
    pub light: &'static str,
    /// On a dark background.
    pub dark: &'static str,
}

impl Colour {
    /// The CSS class of everything in this colour, for a page with a dark mode.
    pub fn class(self) -> String {
        self.dark.replace('#', "on-dark-")
    }

    /// The CSS rule of that class on a dark background.
    pub fn rule(self) -> String {
        format!(".{} {{ --on-dark: {}; }}\n", self.class(), self.dark)
    }
}

/// The marker of a line's points.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Marker {
    /// A circle.
    Circle,
    /// A square.
    Square,
    /// A triangle that points upwards.
    Triangle,
    /// A square on its corner.
    Diamond,
    /// A triangle that points downwards.
    Arrow,
}

/// How a series is drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Look {
    /// Its colour.
    pub colour: Colour,
    /// Lengths of dashes and gaps in pixels; empty for a solid line.
    pub dash: &'static [u8],
    /// The marker of its points.
    pub marker: Marker,
    /// Whether its points have markers: a fit has no points.
    pub is_marked: bool,
    /// Whether markers are hollow: figures from outside this run.
    pub is_hollow: bool,
    /// Whether areas and bars are hatched: unexplained frames.
    pub is_hatched: bool,
}

const fn of(light: &'static str, dark: &'static str) -> Colour {
    Colour { light, dark }
}

/// Colours of methods, and of everything else without a fixed colour.
pub const SLOTS: [Colour; 10] = [
    of("#0072b2", "#60abdb"),
    of("#c94000", "#f1802c"),
    of("#332288", "#8f7df5"),
    of("#ba8b00", "#f0cf55"),
    of("#04804a", "#3fb575"),
    of("#cc6e8c", "#f7b1b8"),
    of("#882255", "#c0497f"),
    of("#4c9ad4", "#b5e3ff"),
    of("#4d4d4d", "#c4c4c4"),
    of("#8a5a2b", "#b98a5c"),
];

/// Slots of the methods that most runs compare. Other methods use the free slots.
const METHODS: [(&str, usize); 9] = [
    ("packet-v3", 0),
    ("recv", 1),
    ("packet-v2", 2),
    ("libpcap", 3),
    ("af-xdp", 4),
    ("recvmmsg", 5),
    ("packet-v1", 6),
    ("xdp-count", 7),
    ("dpdk", 8),
];

const DELIVERED: Colour = of("#4a8bc8", "#3a6fd8");
const UNEXPLAINED: Colour = of("#111111", "#f4f4f4");
/// A colour that no method has: a fit is drawn over its points.
const FIT: Colour = of("#111111", "#f4f4f4");
const NEUTRAL: Colour = of("#5f5f5f", "#b0b0b0");

/// The colour of a place, by its key and by its words in reports.
struct PlaceColour {
    key: &'static str,
    words: &'static str,
    colour: Colour,
}

/// Places of the ledger, by their keys in `results.json`.
const PLACES: [PlaceColour; 17] = [
    PlaceColour { key: "unsent", words: "never sent by the generator", colour: of("#8a8a8a", "#8f8f8f") },
    PlaceColour { key: "transmit", words: "on the transmit side", colour: of("#5d5a88", "#a7a3dd") },
    PlaceColour {
        key: "link_queue",
        words: "in the virtual link's own queue of 256 frames, before the method",
        colour: of("#aa4499", "#d97ccb"),
    },
    PlaceColour { key: "path", words: "between the two interfaces", colour: of("#b0516f", "#e08aa6") },
    PlaceColour { key: "link", words: "on the link or in the NIC", colour: of("#332288", "#9087e5") },
    PlaceColour { key: "driver", words: "in the driver", colour: of("#117733", "#4fb873") },
    PlaceColour { key: "backlog", words: "in the softirq backlog", colour: of("#d07c00", "#f5a83b") },
    PlaceColour { key: "xdp", words: "in XDP", colour: of("#8a8a2e", "#c9c95c") },
    PlaceColour { key: "stack", words: "in the network stack", colour: of("#2f9486", "#5fcdbb") },
    PlaceColour { key: "filter", words: "at the socket filter", colour: of("#88684c", "#c29f80") },
    PlaceColour {
        key: "fill_ring",
        words: "without a free buffer (fill ring)",
        colour: of("#a88c00", "#edd04a"),
    },
    PlaceColour { key: "ring", words: "in the ring or socket queue", colour: of("#cc3311", "#ff6b4a") },
    PlaceColour { key: "method_queue", words: "in the method's queues", colour: of("#882255", "#d66a9e") },
    PlaceColour {
        key: "application_queue",
        words: "in the application's queue",
        colour: of("#e0607a", "#ff94a8"),
    },
    PlaceColour { key: "unread", words: "unread at the end", colour: of("#6d8a1f", "#a6c94f") },
    PlaceColour { key: "truncated", words: "cut short", colour: of("#0f7f9f", "#4cc3e3") },
    PlaceColour { key: "corrupt", words: "damaged", colour: of("#7a3b0c", "#c98550") },
];

/// Parts of other accounts, by their names up to a number.
const ACCOUNTS: [(&str, Colour); 11] = [
    ("PDR", NEUTRAL),
    ("with up to", NEUTRAL),
    ("neither, by the clocks", of("#8a8a8a", "#8f8f8f")),
    ("application", SLOTS[0]),
    ("kernel", SLOTS[1]),
    ("application or kernel", NEUTRAL),
    ("application and kernel", NEUTRAL),
    ("backlogged", SLOTS[3]),
    ("nothing lost only because buffers had room", SLOTS[3]),
    ("offered", NEUTRAL),
    ("generator left frames unsent", NEUTRAL),
];

/// Judgements of changes, by their names: colour, marker, and whether the marker is hollow.
const JUDGEMENTS: [(&str, Colour, Marker, bool); 5] = [
    ("Regressions", SLOTS[1], Marker::Arrow, false),
    ("Improvements", SLOTS[0], Marker::Triangle, false),
    ("Changed, by less than the threshold", NEUTRAL, Marker::Diamond, true),
    ("No difference shown", NEUTRAL, Marker::Circle, true),
    ("Too few trials to decide", NEUTRAL, Marker::Square, true),
];

fn judgement(name: &str) -> Option<&'static (&'static str, Colour, Marker, bool)> {
    JUDGEMENTS.iter().find(|(known, ..)| *known == name)
}

/// The colour of a series. `nth` counts the series without a fixed colour, from 0.
pub fn colour(role: Role, name: &str, nth: usize) -> Colour {
    let named = |table: &[(&str, Colour)], key: &str| {
        table.iter().find(|(known, _)| *known == key).map(|(_, colour)| *colour)
    };
    match role {
        Role::Fit | Role::Total => FIT,
        Role::Method | Role::Published => SLOTS[fixed_slot(method(name)).unwrap_or(nth) % SLOTS.len()],
        Role::Delivered => DELIVERED,
        Role::Unexplained => UNEXPLAINED,
        Role::Place => place(name).unwrap_or(SLOTS[nth % SLOTS.len()]),
        Role::Account => named(&ACCOUNTS, without_number(name)).unwrap_or(SLOTS[nth % SLOTS.len()]),
        Role::Judgement => judgement(name).map_or(NEUTRAL, |(_, colour, ..)| *colour),
    }
}

/// A name up to its first digit: thresholds that it states can change.
fn without_number(name: &str) -> &str {
    name.split(|letter: char| letter.is_ascii_digit()).next().unwrap_or(name).trim_end()
}

/// The method of a series: its name up to the first comma, before placement or load.
fn method(name: &str) -> &str {
    name.split_once(", ").map_or(name, |(method, _)| method)
}

fn fixed_slot(method: &str) -> Option<usize> {
    METHODS.iter().find(|(known, _)| *known == method).map(|(_, slot)| *slot)
}

/// The colour of a place with this key or these words.
fn place(name: &str) -> Option<Colour> {
    PLACES.iter().find(|place| place.key == name || place.words == name).map(|place| place.colour)
}

const DASHES: [&[u8]; 5] = [&[], &[7, 4], &[2, 3], &[10, 3, 2, 3], &[4, 2]];
const MARKERS: [Marker; 5] =
    [Marker::Circle, Marker::Square, Marker::Triangle, Marker::Diamond, Marker::Arrow];

/// The style of everything in a set of charts: of a whole report, so that a name looks the same in each chart, or of one chart.
#[derive(Clone, Debug, Default)]
pub struct Palette {
    /// Methods with their slots. Beyond the last slot, colours repeat with other markers.
    methods: Vec<(String, usize)>,
    /// Suffixes of the methods' names, placements and loads: each has different dashes.
    scenes: Vec<String>,
    /// Other series without a fixed colour.
    others: Vec<(Role, String)>,
}

impl Palette {
    /// The styles of these charts' series.
    pub fn of<'c>(charts: impl IntoIterator<Item = &'c Chart>) -> Self {
        let mut palette = Self::default();
        for series in charts.into_iter().flat_map(|chart| &chart.series) {
            palette.meet(series.role, &series.name);
        }
        // Known methods keep their slots; the others use the free ones in order of appearance.
        let fixed: Vec<usize> = palette.methods.iter().filter_map(|(name, _)| fixed_slot(name)).collect();
        let mut free = (0..).filter(|slot| !fixed.contains(slot));
        for (name, slot) in &mut palette.methods {
            *slot = fixed_slot(name).or_else(|| free.next()).unwrap_or(0);
        }
        palette
    }

    fn meet(&mut self, role: Role, name: &str) {
        fn add<T: PartialEq>(known: &mut Vec<T>, new: T) {
            if !known.contains(&new) {
                known.push(new);
            }
        }
        let (method, scene) = name.split_once(", ").unwrap_or((name, ""));
        match role {
            Role::Method | Role::Published | Role::Fit => add(&mut self.methods, (method.into(), usize::MAX)),
            _ => add(&mut self.others, (role, name.into())),
        }
        // Fits and published figures have fixed dashes.
        if role == Role::Method {
            add(&mut self.scenes, scene.into());
        }
    }

    /// How a series is drawn.
    pub fn look(&self, role: Role, name: &str) -> Look {
        let (method, scene) = name.split_once(", ").unwrap_or((name, ""));
        let nth = match role {
            Role::Method | Role::Published | Role::Fit => {
                self.methods.iter().find(|(known, _)| known == method).map(|(_, slot)| *slot)
            }
            _ => self.others.iter().position(|known| known.0 == role && known.1 == name),
        };
        let nth = nth.unwrap_or(0);
        let scene = self.scenes.iter().position(|known| role == Role::Method && known == scene).unwrap_or(0);
        let dash = match role {
            Role::Method => DASHES[scene % DASHES.len()],
            Role::Published => &[3, 4],
            Role::Fit => &[6, 3],
            Role::Delivered | Role::Place | Role::Unexplained | Role::Total | Role::Judgement => &[],
            Role::Account => DASHES[nth % DASHES.len()],
        };
        let judged = judgement(name).filter(|_| role == Role::Judgement);
        Look {
            colour: colour(role, name, nth),
            dash,
            marker: match judged {
                Some((_, _, marker, _)) => *marker,
                None => MARKERS[(nth + nth / SLOTS.len() + scene) % MARKERS.len()],
            },
            is_marked: !matches!(role, Role::Fit),
            is_hollow: judged
                .map_or(matches!(role, Role::Published | Role::Total), |(.., is_hollow)| *is_hollow),
            is_hatched: matches!(role, Role::Unexplained),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chart::{Axis, Kind, Scale, Series, Unit};

    /// Red, green and blue as light, not as they are stored (sRGB, IEC 61966-2-1).
    fn light(colour: &str) -> [f64; 3] {
        [1, 3, 5].map(|at| {
            let stored = f64::from(u8::from_str_radix(&colour[at..at + 2], 16).unwrap()) / 255.0;
            if stored <= 0.04045 { stored / 12.92 } else { ((stored + 0.055) / 1.055).powf(2.4) }
        })
    }

    fn times(matrix: [[f64; 3]; 3], vector: [f64; 3]) -> [f64; 3] {
        matrix.map(|row| row.iter().zip(vector).map(|(a, b)| a * b).sum())
    }

    /// Relative luminance of WCAG.
    fn luminance(colour: &str) -> f64 {
        let [red, green, blue] = light(colour);
        0.2126 * red + 0.7152 * green + 0.0722 * blue
    }

    fn contrast(a: &str, b: &str) -> f64 {
        let (a, b) = (luminance(a) + 0.05, luminance(b) + 0.05);
        a.max(b) / a.min(b)
    }

    /// Oklab (Ottosson 2020).
    fn perceived(light: [f64; 3]) -> [f64; 3] {
        let cones = times(
            [
                [0.412_221_470_8, 0.536_332_536_3, 0.051_445_992_9],
                [0.211_903_498_2, 0.680_699_545_1, 0.107_396_956_6],
                [0.088_302_461_9, 0.281_718_837_6, 0.629_978_700_5],
            ],
            light,
        )
        .map(|cone| cone.max(0.0).cbrt());
        times(
            [
                [0.210_454_255_3, 0.793_617_785_0, -0.004_072_046_8],
                [1.977_998_495_1, -2.428_592_205_0, 0.450_593_709_9],
                [0.025_904_037_1, 0.782_771_766_2, -0.808_675_766_0],
            ],
            cones,
        )
    }

    /// How people see it without cones for red, without those for green, and with all (Machado and others 2009, severity 1).
    fn seen(colour: &str) -> [[f64; 3]; 3] {
        let light = light(colour);
        let protanopia = [
            [0.152_286, 1.052_583, -0.204_868],
            [0.114_503, 0.786_281, 0.099_216],
            [-0.003_882, -0.048_116, 1.051_998],
        ];
        let deuteranopia = [
            [0.367_322, 0.860_646, -0.227_968],
            [0.280_085, 0.672_501, 0.047_413],
            [-0.011_820, 0.042_940, 0.968_881],
        ];
        [times(protanopia, light), times(deuteranopia, light), light].map(perceived)
    }

    /// The least distance of two colours for any of the three.
    fn distance(a: &str, b: &str) -> f64 {
        let apart = |(a, b): (&[f64; 3], &[f64; 3])| {
            a.iter().zip(b).map(|(a, b)| (a - b).powi(2)).sum::<f64>().sqrt()
        };
        seen(a).iter().zip(&seen(b)).map(apart).fold(f64::INFINITY, f64::min)
    }

    fn everything() -> Vec<Colour> {
        let mut all = SLOTS.to_vec();
        all.extend(PLACES.map(|place| place.colour));
        all.extend(ACCOUNTS.map(|(_, colour)| colour));
        all.extend([DELIVERED, UNEXPLAINED, NEUTRAL, FIT]);
        all
    }

    #[test]
    fn every_colour_stands_out_from_its_background() {
        for colour in everything() {
            assert!(
                contrast(colour.light, "#ffffff") >= 3.0,
                "{colour:?} {}",
                contrast(colour.light, "#ffffff")
            );
            assert!(
                contrast(colour.dark, "#16191d") >= 3.0,
                "{colour:?} {}",
                contrast(colour.dark, "#16191d")
            );
        }
    }

    #[test]
    fn the_first_eight_are_told_apart_by_the_colour_blind() {
        for (nth, a) in SLOTS[..8].iter().enumerate() {
            for b in &SLOTS[nth + 1..8] {
                let (light, dark) = (distance(a.light, b.light), distance(a.dark, b.dark));
                assert!(light >= 0.09, "{} {} {light}", a.light, b.light);
                assert!(dark >= 0.09, "{} {} {dark}", a.dark, b.dark);
            }
        }
    }

    /// Delivered is below the losses, unexplained above them, and losses that come together are next to each other.
    #[test]
    fn layers_that_touch_are_told_apart_by_the_colour_blind() {
        let place = |name| colour(Role::Place, name, 0);
        let often = ["unsent", "link_queue", "backlog", "ring", "application_queue", "unread"].map(place);
        for colour in capbench_model::places::ALL.map(|one| place(one.key())) {
            assert!(distance(colour.light, DELIVERED.light) >= 0.06, "{colour:?}");
            assert!(distance(colour.light, UNEXPLAINED.light) >= 0.06, "{colour:?}");
            assert!(distance(colour.dark, DELIVERED.dark) >= 0.06, "{colour:?}");
        }
        for pair in often.windows(2) {
            assert!(distance(pair[0].light, pair[1].light) >= 0.06, "{pair:?}");
            assert!(distance(pair[0].dark, pair[1].dark) >= 0.06, "{pair:?}");
        }
    }

    #[test]
    fn every_place_has_its_colour() {
        for place in capbench_model::places::ALL {
            assert!(PLACES.iter().any(|known| known.key == place.key()), "{place:?}");
        }
    }

    fn chart(names: &[(Role, &str)]) -> Chart {
        let axis = Axis { label: "x".into(), unit: Unit::None, scale: Scale::Linear };
        let series = |&(role, name): &(Role, &str)| Series { name: name.into(), role, points: Vec::new() };
        Chart {
            id: "chart".into(),
            title: String::new(),
            kind: Kind::Lines,
            x: axis.clone(),
            y: axis,
            series: names.iter().map(series).collect(),
            marks: Vec::new(),
            notes: Vec::new(),
        }
    }

    #[test]
    fn a_name_looks_the_same_in_every_chart_of_a_report_and_like_no_other() {
        let charts = [
            chart(&[(Role::Method, "cmd:tcpdump"), (Role::Method, "packet-v3, placement same")]),
            chart(&[
                (Role::Method, "packet-v3, placement other"),
                (Role::Fit, "packet-v3, fit"),
                (Role::Method, "libpcap:/opt/libpcap.so"),
                (Role::Method, "cmd:tcpdump"),
            ]),
        ];
        let palette = Palette::of(&charts);
        let look = |name| palette.look(Role::Method, name);
        let (same, other) = (look("packet-v3, placement same"), look("packet-v3, placement other"));
        assert_eq!((same.colour, same.colour), (SLOTS[0], other.colour));
        assert_ne!(same.dash, other.dash);
        assert_ne!(
            palette.look(Role::Fit, "packet-v3, fit").colour,
            SLOTS[0],
            "it would not be seen on its points"
        );
        assert_ne!(look("cmd:tcpdump").colour, look("libpcap:/opt/libpcap.so").colour);
        assert!(![look("cmd:tcpdump").colour, look("libpcap:/opt/libpcap.so").colour].contains(&SLOTS[0]));
    }

    #[test]
    fn when_colours_come_again_markers_differ() {
        let names: Vec<String> = (0..14).map(|nth| format!("cmd:{nth}")).collect();
        let of: Vec<(Role, &str)> = names.iter().map(|name| (Role::Method, name.as_str())).collect();
        let palette = Palette::of(&[chart(&of)]);
        let looks: Vec<Look> = names.iter().map(|name| palette.look(Role::Method, name)).collect();
        for (nth, look) in looks.iter().enumerate() {
            assert!(
                looks[nth + 1..]
                    .iter()
                    .all(|other| (other.colour, other.marker) != (look.colour, look.marker))
            );
        }
    }
}
