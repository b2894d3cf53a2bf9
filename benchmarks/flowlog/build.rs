fn main() -> std::io::Result<()> {
    flowlog_build::compile("andersen.dl")?;
    flowlog_build::compile("cspa.dl")?;
    flowlog_build::compile("csda.dl")
}
