//! FlowLog as a peer: `flowlog-peer PROGRAM DIR` reads DIR/RELATION.csv on one worker; prints CPU seconds and rows.
pub mod andersen { include!(concat!(env!("OUT_DIR"), "/andersen.rs")); }
pub mod cspa { include!(concat!(env!("OUT_DIR"), "/cspa.rs")); }
pub mod csda { include!(concat!(env!("OUT_DIR"), "/csda.rs")); }
fn rows(dir: &str, name: &str) -> Vec<(i32, i32)> {
    std::fs::read_to_string(format!("{dir}/{name}.csv")).unwrap().lines().map(|line| {
        let (x, y) = line.split_once(',').unwrap();
        (x.parse().unwrap(), y.parse().unwrap())
    }).collect()
}
fn cpu() -> f64 {
    let text = std::fs::read_to_string("/proc/self/stat").unwrap();
    let rest: Vec<&str> = text.rsplit(')').next().unwrap().split_whitespace().collect();
    (rest[11].parse::<f64>().unwrap() + rest[12].parse::<f64>().unwrap()) / 100.0
}
fn main() {
    let args: Vec<String> = std::env::args().collect();
    let dir = &args[2];
    let (begun, count);
    match args[1].as_str() {
        "andersen" => {
            let given = (rows(dir, "address"), rows(dir, "assign"), rows(dir, "load"), rows(dir, "store"));
            begun = cpu();
            let mut engine = andersen::BatchEngine::new(1);
            engine.insert_address(given.0); engine.insert_assign(given.1); engine.insert_load(given.2); engine.insert_store(given.3);
            count = engine.run().points.len();
        }
        "cspa" => {
            let given = (rows(dir, "assign"), rows(dir, "deref"));
            begun = cpu();
            let mut engine = cspa::BatchEngine::new(1);
            engine.insert_assign(given.0); engine.insert_deref(given.1);
            count = engine.run().flow.len();
        }
        _ => {
            let given = (rows(dir, "nullEdge"), rows(dir, "arc"));
            begun = cpu();
            let mut engine = csda::BatchEngine::new(1);
            engine.insert_nulledge(given.0); engine.insert_arc(given.1);
            count = engine.run().flows.len();
        }
    }
    println!("{:.2} {}", cpu() - begun, count);
}
