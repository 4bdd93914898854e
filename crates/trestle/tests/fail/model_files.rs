//! Model files that are no models.

mod mistakes {
    trestle::model!("./mistakes.toml");
}

mod missing {
    trestle::model!("./nowhere.toml");
}

mod no_path {
    trestle::model!(shop);
}

mod large_default {
    trestle::model!("./large_default.toml");
}

fn main() {}
